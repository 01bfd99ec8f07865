import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { service } from '../../api/service.ts';
import type { DatasetDetail } from '../../api/types.ts';
import { formatCount } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';
import { nameText, serviceErrorPanel } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';
import { router } from '../../state/app.ts';
import { importPath } from '../../state/router.ts';
import { detectedName } from './import-words.ts';

const shown = 8;

/** The errors of a dataset by line, with an offer to import rows of another format. */
@customElement('hone-dataset-faults')
export class DatasetFaults extends LightElement {
  @property({ attribute: false }) detail!: DatasetDetail;
  private readonly _action = new Action(this);

  private async _import(): Promise<void> {
    await this._action.run(async () => {
      router.go(importPath((await service.addImport({ dataset: this.detail.filename })).id));
    });
  }

  protected override render(): TemplateResult | typeof nothing {
    const { filename, validation, convertible } = this.detail;
    const { valid, errors, total_errors: total } = validation;
    if (valid && convertible === null) return nothing;
    const found = total === 1 ? '1 error' : `${formatCount(total)} errors`;
    if (convertible !== null) {
      return html`<div class="row between wrap-row">
          <p class="warning wrap">
            The rows look like ${detectedName(convertible) ?? 'another format'}. ${
              valid
                ? 'Import them, or only the fields that Hone knows are trained on.'
                : 'Import them to train on them, which chooses the columns.'
            }
          </p>
          ${this._button()}
        </div>
        ${
          valid
            ? nothing
            : html`<details>
                <summary>Why they cannot be used as they are</summary>
                ${faultTable(errors, total)}
              </details>`
        }
        ${this._fault()}`;
    }
    return html`<div class="panel-error" role="alert">
      <p class="panel-title">${nameText(filename)} has ${found}</p>
      ${faultTable(errors, total)}
      <p>Fix these lines and upload the file again to replace it.</p>
    </div>`;
  }

  private _button(): TemplateResult {
    return html`<button type="button" class="small" ?disabled=${this._action.busy} @click=${this._import}>Import…</button>`;
  }

  private _fault(): TemplateResult | typeof nothing {
    return this._action.error === null
      ? nothing
      : serviceErrorPanel('Could not import the rows', this._action.error);
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-dataset-faults': DatasetFaults;
  }
}

/** The first errors by line and field. */
function faultTable(errors: DatasetDetail['validation']['errors'], total: number): TemplateResult {
  return html`<div class="scroll-box" tabindex="0" role="region" aria-label="Dataset errors">
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
    ${total > shown ? html`<p>And ${formatCount(total - shown)} more.</p>` : nothing}`;
}
