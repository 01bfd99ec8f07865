import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { service, type TrainingBody } from '../../api/service.ts';
import type { Estimate } from '../../api/types.ts';
import { formatBytes, formatDuration, formatMemory } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';
import { progressBar } from '../../elements/parts.ts';
import { asServiceError } from '../../state/remote.ts';

const editPauseMs = 350;
/** After this time, an estimate that the service could not make is asked for again. */
const retryMs = 3_000;
const bytesPerGb = 2 ** 30;

const memoryParts = [
  ['weights_bytes', 'Weights'],
  ['adapter_bytes', 'Adapter'],
  ['optimizer_bytes', 'Optimizer'],
  ['activations_bytes', 'Activations'],
  ['logits_bytes', 'Logits'],
  ['runtime_bytes', 'Runtime'],
] as const;

const diskParts = [
  ['download_bytes', 'Download'],
  ['checkpoints_bytes', 'Checkpoints'],
  ['export_bytes', 'Export'],
  ['teacher_bytes', 'Teacher’s answers'],
  ['spare_bytes', 'Reserve'],
] as const;

/**
 * The time, memory and disk space that a run needs, updated as the form changes. Fires `estimated` with each answer;
 * `null` means none.
 */
@customElement('hone-estimate')
export class EstimateView extends LightElement {
  /** The request to estimate; `null` while it is incomplete. */
  @property({ attribute: false }) body: TrainingBody | null = null;
  @state() private _estimate: Estimate | null = null;
  private _asked = '';
  private _timer: ReturnType<typeof setTimeout> | null = null;
  private _asking: AbortController | null = null;

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    if (this._timer !== null) clearTimeout(this._timer);
    this._asking?.abort();
    this._asked = '';
  }

  protected override willUpdate(): void {
    if (this.body === null) return;
    const asked = JSON.stringify(this.body);
    if (asked === this._asked) return;
    this._asked = asked;
    this._asking?.abort();
    this._askIn(editPauseMs, asked);
  }

  private _askIn(pauseMs: number, asked: string): void {
    if (this._timer !== null) clearTimeout(this._timer);
    this._timer = setTimeout(() => void this._ask(asked), pauseMs);
  }

  private async _ask(asked: string): Promise<void> {
    const asking = new AbortController();
    this._asking = asking;
    // Starting the run shows what is wrong with the request; here there is just no estimate.
    let isBusy = false;
    const estimate = await service.estimate(JSON.parse(asked), asking.signal).catch((error: unknown) => {
      const { status } = asServiceError(error);
      isBusy = status === 0 || status === 429 || status >= 500;
      return null;
    });
    if (asked !== this._asked) return;
    if (isBusy) this._askIn(retryMs, asked);
    this._estimate = estimate;
    this.dispatchEvent(new CustomEvent('estimated', { detail: estimate }));
  }

  protected override render(): TemplateResult | typeof nothing {
    const estimate = this._estimate;
    if (estimate === null || this.body === null) return nothing;
    const { available, memory, disk, precision, simple_gb } = estimate;
    const needed = memory?.total_bytes ?? (simple_gb?.[precision] ?? 0) * bytesPerGb;
    return html`<div class="estimate" role="status">
      ${time(estimate)}
      ${
        needed > 0
          ? html`${budget(`${available.memory_of === 'gpu' ? 'GPU memory' : 'Memory'}, ${precision}`, needed, available.memory_bytes, formatMemory)}
            ${
              memory === null
                ? nothing
                : parts(
                    'Memory breakdown',
                    memoryParts.map(([key, name]) => [name, formatMemory(memory[key])]),
                  )
            }`
          : nothing
      }
      ${
        disk === null || available.disk_bytes === null
          ? nothing
          : html`${budget('Disk', disk.total_bytes, available.disk_bytes, formatBytes)}
            ${parts(
              'Disk breakdown',
              diskParts
                .filter(([key]) => key !== 'teacher_bytes' || disk[key] > 0)
                .map(([key, name]) => [name, formatBytes(disk[key])]),
            )}`
      }
      ${estimate.advice.map((advice) => html`<p class="${estimate.fits === false ? 'warning' : 'note'} wrap"><bdi>${advice}</bdi></p>`)}
    </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-estimate': EstimateView;
  }
}

/** How long the run will take, and by what this is told. */
function time({ time: found, steps }: Estimate): TemplateResult | typeof nothing {
  if (steps === null) return nothing;
  if (found === null)
    return html`<p class="note">The time is known after a first run of this model here.</p>`;
  const { total_seconds, train_seconds, prepare_seconds, export_seconds, basis, rough } = found;
  return html`<p class="row between wrap-row">
      <span>Time</span><span class="tabular">about ${formatDuration(total_seconds)}</span>
    </p>
    <p class="note">
      ${rough ? 'Roughly, by' : 'By'} <a href="/training/${basis}">${basis}</a> on this machine:
      ${[
        ['preparing', prepare_seconds] as const,
        ['training', train_seconds] as const,
        ['exporting', export_seconds] as const,
      ]
        .filter(([, seconds]) => seconds > 0)
        .map(([name, seconds]) => `${name} ${formatDuration(seconds)}`)
        .join(', ')}.
    </p>`;
}

function budget(
  name: string,
  needed: number,
  available: number,
  format: (bytes: number) => string,
): TemplateResult {
  const percent = available > 0 ? (needed / available) * 100 : 100;
  return html`<div class="meter" data-over=${percent > 100 ? 'yes' : nothing}>
    <p class="row between wrap-row">
      <span>${name}</span><span class="tabular">about ${format(needed)} of ${format(available)}</span>
    </p>
    ${progressBar(name, Math.min(100, percent))}
  </div>`;
}

function parts(title: string, rows: readonly (readonly [string, string])[]): TemplateResult {
  return html`<details>
    <summary>${title}</summary>
    <dl class="facts">
      ${rows.map(([name, text]) => html`<div class="figure"><dt>${name}</dt><dd>${text}</dd></div>`)}
    </dl>
  </details>`;
}
