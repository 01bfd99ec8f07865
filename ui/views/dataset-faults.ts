import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { ServiceError } from '../api/request.ts';
import { service } from '../api/service.ts';
import type { DatasetDetail } from '../api/types.ts';
import { formatCount } from '../elements/format.ts';
import { nameText, serviceErrorPanel } from '../elements/parts.ts';
import { datasets, toasts } from '../state/app.ts';
import { asServiceError } from '../state/remote.ts';

const shown = 8;

/** The errors of a dataset by line, with an offer to convert rows of another format. Fires `converted` with the new name. */
@customElement('hone-dataset-faults')
export class DatasetFaults extends LitElement {
  @property({ attribute: false }) detail!: DatasetDetail;
  @state() private _busy = false;
  @state() private _error: ServiceError | null = null;

  protected override createRenderRoot(): this {
    return this;
  }

  private async _convert(): Promise<void> {
    if (this._busy) return;
    this._busy = true;
    this._error = null;
    const { filename } = this.detail;
    try {
      const converted = await service.convertDataset(filename);
      await datasets.refresh();
      toasts.show(`${filename} was converted to ${converted.filename}.`);
      this.dispatchEvent(new CustomEvent('converted', { detail: converted.filename }));
    } catch (error) {
      this._error = asServiceError(error);
    } finally {
      this._busy = false;
    }
  }

  protected override render(): TemplateResult | typeof nothing {
    const { filename, validation } = this.detail;
    const { valid, errors, total_errors: total, shape } = validation;
    if (valid) return nothing;
    return html`<div class="panel-error" role="alert">
        <p class="panel-title">${nameText(filename)} has ${total === 1 ? '1 error' : `${formatCount(total)} errors`}</p>
        <div class="scroll-box" tabindex="0" role="region" aria-label="Dataset errors">
          <table class="rows">
            <thead>
              <tr><th scope="col" class="right">Line</th><th scope="col">Field</th><th scope="col">Error</th></tr>
            </thead>
            <tbody>
              ${errors.slice(0, shown).map(
                ({ line, field, message }) => html`<tr>
                  <td class="right">${line ?? '–'}</td>
                  <td><code>${field ?? '–'}</code></td>
                  <td class="wrap"><bdi>${message.replace(/^Line \d+: /, '')}</bdi></td>
                </tr>`,
              )}
            </tbody>
          </table>
        </div>
        ${total > shown ? html`<p>And ${formatCount(total - shown)} more.</p>` : nothing}
        <p>Fix these lines and upload the file again to replace it.</p>
        ${
          shape === null
            ? html`<p>
                <button type="button" class="small" ?disabled=${this._busy} @click=${this._convert}>
                  Convert from Alpaca or ShareGPT
                </button>
              </p>`
            : nothing
        }
      </div>
      ${this._error === null ? nothing : serviceErrorPanel('Could not convert the rows', this._error)}`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-dataset-faults': DatasetFaults;
  }
}
