import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import type { CheckedModel, Recommendation, Recommendations } from '../../api/types.ts';
import { formatCount, formatMemory, formatNumber } from '../../elements/format.ts';
import { nameText, option, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { models } from '../../state/app.ts';
import { draft } from '../../state/draft.ts';
import { profileName } from '../../state/job-words.ts';
import { asServiceError } from '../../state/remote.ts';
import { Watch } from '../../state/store.ts';

const typingPauseMs = 450;
/** The statuses that a start would answer with. */
const statuses = { invalid: 400, forbidden: 403, upstream: 502 } as const;

type Check =
  | { readonly state: 'asking' }
  | { readonly state: 'good'; readonly hub: CheckedModel['hub'] }
  | { readonly state: 'bad'; readonly error: ServiceError };

/** Chooses the base model: a recommended one, or any other, checked as it is typed. */
@customElement('hone-model-picker')
export class ModelPicker extends LitElement {
  @state() private _recommended: Recommendations | null = null;
  @state() private _error: ServiceError | null = null;
  @state() private _check: Check | null = null;
  private _task = '';
  /** The model that was typed in last. */
  private _typed = '';
  private _asked = '';
  private _timer: ReturnType<typeof setTimeout> | null = null;
  private _asking: AbortController | null = null;

  constructor() {
    super();
    new Watch(this, draft, models);
  }

  protected override createRenderRoot(): this {
    return this;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    if (this._timer !== null) clearTimeout(this._timer);
    this._asking?.abort();
    this._asked = '';
  }

  protected override willUpdate(): void {
    const { task, model, custom } = draft.value;
    if (custom) this._typed = model;
    if (task !== this._task) {
      this._task = task;
      void this._recommend(task);
    }
    if (model.trim() !== this._asked) this._ask(model.trim());
  }

  private async _recommend(task: string): Promise<void> {
    try {
      const found = await service.recommendations(task);
      if (task !== this._task) return;
      this._recommended = found;
      this._error = null;
      const [first] = found.recommendations;
      if (first !== undefined && draft.value.model === '' && !draft.value.custom) {
        draft.change({ model: first.model });
      }
    } catch (error) {
      this._error = asServiceError(error);
    }
  }

  private _ask(model: string): void {
    this._asked = model;
    if (this._timer !== null) clearTimeout(this._timer);
    this._asking?.abort();
    this._check = model === '' ? null : { state: 'asking' };
    if (model === '') return;
    this._timer = setTimeout(() => void this._checkNow(model), typingPauseMs);
  }

  private async _checkNow(model: string): Promise<void> {
    const asking = new AbortController();
    this._asking = asking;
    try {
      const answer = await service.checkModel(model, asking.signal);
      if (this._asked !== model) return;
      const { problem, hub } = answer;
      this._check =
        problem === null
          ? { state: 'good', hub }
          : {
              state: 'bad',
              error: new ServiceError(statuses[problem.kind], problem.message, problem.message),
            };
    } catch (error) {
      if (this._asked === model && !asking.signal.aborted) {
        this._check = { state: 'bad', error: asServiceError(error) };
      }
    }
  }

  protected override render(): TemplateResult {
    const { custom, model } = draft.value;
    const recommended = this._recommended;
    if (recommended === null && this._error === null) return html`${skeleton(5)}`;
    return html`
      ${recommended === null ? nothing : html`<p class="hint">Recommended for this machine (${profileName(recommended.profile).toLowerCase()} profile), best first.</p>`}
      ${this._error === null ? nothing : serviceErrorPanel('Could not load the recommendations', this._error)}
      <div class="options" role="radiogroup" aria-label="Model">
        ${(recommended?.recommendations ?? []).map((entry, index) =>
          option(
            'model',
            entry.model,
            html`${nameText(entry.model)}${index === 0 ? html` <span class="tag">recommended</span>` : nothing}`,
            reason(entry),
            !custom && model === entry.model,
            () => draft.change({ model: entry.model, custom: false }),
          ),
        )}
        ${option('model', 'custom', 'Other model', 'A hub ID or a local folder.', custom, () =>
          draft.change({ custom: true, model: this._typed }),
        )}
      </div>
      ${
        custom
          ? html`<div class="field">
              <label for="custom-model">Hub ID or folder</label>
              <input
                id="custom-model"
                type="text"
                class="mono"
                placeholder="owner/name or /path/to/model"
                autocomplete="off"
                spellcheck="false"
                aria-describedby="model-check"
                aria-invalid=${this._check?.state === 'bad' ? 'true' : nothing}
                .value=${model}
                @input=${(event: Event) => draft.change({ model: (event.target as HTMLInputElement).value })}
              />
            </div>`
          : nothing
      }
      <div id="model-check" class="check-line" role="status">${this._verdict()}</div>
    `;
  }

  private _verdict(): TemplateResult | typeof nothing {
    const check = this._check;
    if (check === null) return nothing;
    if (check.state === 'asking') return html`<span class="muted">Checking…</span>`;
    if (check.state === 'bad') {
      const { status } = check.error;
      const title =
        status === 403
          ? 'This model does not exist, or is private or gated'
          : status === 502
            ? 'Could not reach the hub'
            : 'This model cannot be used';
      return serviceErrorPanel(title, check.error);
    }
    const { hub } = check;
    return html`<span class="good">✓ Model found</span>
      ${
        hub === null
          ? html`<span class="muted">local folder</span>`
          : html`<span class="muted tabular">
              ${formatCount(hub.downloads)} downloads, ${formatCount(hub.likes)} likes
            </span>`
      }`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-model-picker': ModelPicker;
  }
}

/** Why a model is recommended, with its size, memory and license. */
function reason({ why, parameters_billion, memory_bytes, licence }: Recommendation): TemplateResult {
  return html`${why.charAt(0).toUpperCase()}${why.slice(1)}
    <span class="reason-facts tabular">
      ${formatNumber(parameters_billion, 3)} B parameters · about ${formatMemory(memory_bytes)} to train · ${licence}
    </span>`;
}
