import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { request } from '../api/request.ts';
import type { TrainingBody } from '../api/service.ts';
import { progressBar } from '../elements/parts.ts';
import { formatBytes, formatDuration } from '../format.ts';
import { offers } from '../state/app.ts';
import { Watch } from '../state/store.ts';

const estimateRoute = 'POST /api/estimate';
const editPauseMs = 350;

interface Budget {
  readonly needed_bytes: number;
  readonly available_bytes: number;
}

/** What a run will take, as the service reckons. */
interface Estimate {
  readonly memory: (Budget & { readonly device: string }) | null;
  readonly disk: Budget | null;
  readonly seconds?: number | null;
  readonly warnings?: readonly string[];
}

/** Memory and disk that a run will take; it moves as the form is edited. */
@customElement('hone-estimate')
export class EstimateView extends LitElement {
  @property({ attribute: false }) body: TrainingBody | null = null;
  @state() private _estimate: Estimate | null = null;
  private _asked = '';
  private _timer: ReturnType<typeof setTimeout> | null = null;

  constructor() {
    super();
    new Watch(this, offers);
  }

  protected override createRenderRoot(): this {
    return this;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    if (this._timer !== null) clearTimeout(this._timer);
  }

  protected override willUpdate(): void {
    if (!offers.value.has(estimateRoute) || this.body === null) return;
    const asked = JSON.stringify(this.body);
    if (asked === this._asked) return;
    this._asked = asked;
    if (this._timer !== null) clearTimeout(this._timer);
    this._timer = setTimeout(() => void this._ask(asked), editPauseMs);
  }

  private async _ask(asked: string): Promise<void> {
    const estimate = await request<Estimate>('/api/estimate', {
      method: 'POST',
      body: JSON.parse(asked),
    }).catch(() => null);
    if (asked === this._asked) this._estimate = estimate;
  }

  protected override render(): TemplateResult | typeof nothing {
    const estimate = this._estimate;
    if (!offers.value.has(estimateRoute) || estimate === null || this.body === null) return nothing;
    return html`<div class="estimate" role="status">
      ${estimate.memory === null ? nothing : budget(`Memory (${estimate.memory.device})`, estimate.memory)}
      ${estimate.disk === null ? nothing : budget('Disk', estimate.disk)}
      ${estimate.seconds == null ? nothing : html`<p>About <b>${formatDuration(estimate.seconds)}</b></p>`}
      ${(estimate.warnings ?? []).map((warning) => html`<p class="warning wrap"><bdi>${warning}</bdi></p>`)}
    </div>`;
  }
}

function budget(name: string, { needed_bytes, available_bytes }: Budget): TemplateResult {
  const percent = available_bytes > 0 ? (needed_bytes / available_bytes) * 100 : 100;
  return html`<div class="meter" data-over=${percent > 100 ? 'yes' : nothing}>
    <p class="row between">
      <span>${name}</span>
      <span class="tabular">${formatBytes(needed_bytes)} of ${formatBytes(available_bytes)}</span>
    </p>
    ${progressBar(name, Math.min(100, percent))}
    ${percent > 100 ? html`<p class="warning">More than there is.</p>` : nothing}
  </div>`;
}
