import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { service } from '../../../api/service.ts';
import type { ModelDownload } from '../../../api/types.ts';
import { keyedRow } from '../../../elements/child.ts';
import { formatMemory } from '../../../elements/format.ts';
import { LightElement } from '../../../elements/light-element.ts';
import { nameText, progressBar, serviceErrorPanel } from '../../../elements/parts.ts';
import { Action } from '../../../state/action.ts';

/** The downloads that are going or have failed. Fires `changed` when one was cancelled or started again. */
@customElement('hone-model-downloads')
export class ModelDownloads extends LightElement {
  @property({ attribute: false }) downloads: readonly ModelDownload[] = [];
  private readonly _action = new Action(this);

  private async _do(work: () => Promise<unknown>): Promise<void> {
    await this._action.run(work);
    this.dispatchEvent(new CustomEvent('changed'));
  }

  protected override render(): TemplateResult | typeof nothing {
    const { error } = this._action;
    if (this.downloads.length === 0 && error === null) return nothing;
    return html`<section class="card" aria-labelledby="downloads">
      <h2 id="downloads">Downloads</h2>
      ${error === null ? nothing : serviceErrorPanel('Could not change the download', error)}
      <ul class="list open-imports">
        ${keyedRow(
          this.downloads,
          ({ id }) => id,
          (one) => this._entry(one),
        )}
      </ul>
    </section>`;
  }

  private _entry(download: ModelDownload): TemplateResult {
    const { id, model, state, progress, total_bytes: total, error } = download;
    const isRunning = state === 'running';
    return html`<li>
      <div class="row between wrap-row">
        <span>${nameText(model)}</span>
        <span class="row">
          ${
            isRunning
              ? html`<span class="muted tabular">${howFar(download)}</span>`
              : html`<button
                  type="button"
                  class="small"
                  ?disabled=${this._action.busy}
                  aria-label="Try again to download ${model}"
                  @click=${() => this._do(() => service.downloadModel(model))}
                >
                  Try again
                </button>`
          }
          <button
            type="button"
            class="small"
            ?disabled=${this._action.busy}
            aria-label=${isRunning ? `Cancel the download of ${model}` : `Dismiss the download of ${model}`}
            @click=${() => this._do(() => service.removeDownload(id))}
          >
            ${isRunning ? 'Cancel' : 'Dismiss'}
          </button>
        </span>
      </div>
      ${
        isRunning
          ? progressBar(`Download of ${model}`, total === null ? null : 100 * progress)
          : html`<p class="fault wrap"><bdi>${error ?? nothing}</bdi></p>`
      }
    </li>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-model-downloads': ModelDownloads;
  }
}

/** How far a download is. Before the sizes of all files are known, a percentage would be too high. */
function howFar({ progress, done_bytes: done, total_bytes: total }: ModelDownload): string {
  if (total !== null) return `${Math.floor(100 * progress)}% of ${formatMemory(total)}`;
  return done === 0 ? 'Starting' : formatMemory(done);
}
