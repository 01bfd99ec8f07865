import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { service } from '../../api/service.ts';
import { formatCount } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';
import { serviceErrorPanel } from '../../elements/parts.ts';
import { readNumber } from '../../settings/read-number.ts';
import { Action } from '../../state/action.ts';
import { datasets, toasts } from '../../state/app.ts';
import { draft } from '../../state/drafts/draft.ts';

const defaultPercent = '10';

/** The dialog that splits a dataset into one to train on and one to validate on. Fires `split` with the name of the first. */
@customElement('hone-split-dialog')
export class SplitDialog extends LightElement {
  @property() name = '';
  /** The number of rows. */
  @property({ attribute: false }) total = 0;
  @state() private _percent = defaultPercent;
  private readonly _action = new Action(this);

  /** The rows of the validation dataset; `null` if the text is no percentage. */
  private get _rows(): number | null {
    const percent = readNumber(this._percent);
    return percent > 0 && percent < 100 ? Math.round((this.total * percent) / 100) : null;
  }

  private async _split(event: Event): Promise<void> {
    event.preventDefault();
    if (this._action.busy || this._rows === null) return;
    await this._action.run(async () => {
      const { training, validation } = await service.splitDataset(this.name, {
        fraction: readNumber(this._percent) / 100,
      });
      await datasets.refresh();
      draft.change({ dataset: training.filename, validationDataset: validation.filename });
      toasts.show(`${this.name} was split into ${training.filename} and ${validation.filename}.`);
      this.querySelector('dialog')?.close();
      this.dispatchEvent(new CustomEvent('split', { detail: training.filename }));
    });
  }

  protected override render(): TemplateResult {
    const rows = this._rows;
    const content = html`<form @submit=${(event: Event) => this._split(event)}>
      <p>
        Makes two new datasets, one to train on and one to validate on, of rows that are drawn at random. This dataset
        stays as it is.
      </p>
      <div class="field">
        <label for="split-percent">Validation share (%)</label>
        <input
          id="split-percent"
          type="text"
          inputmode="decimal"
          autocomplete="off"
          autofocus
          aria-describedby="split-rows"
          aria-invalid=${rows === null ? 'true' : nothing}
          .value=${this._percent}
          @input=${(event: Event) => {
            this._percent = (event.target as HTMLInputElement).value;
          }}
        />
        <p class="hint" id="split-rows" role="status">
          ${rows === null ? 'A number above 0 and below 100.' : `${formatCount(rows)} rows to validate on, ${formatCount(this.total - rows)} to train on.`}
        </p>
      </div>
      ${this._action.error === null ? nothing : serviceErrorPanel('Could not split the dataset', this._action.error)}
      <div class="row end">
        <button type="submit" class="primary" ?disabled=${this._action.busy || rows === null}>${this._action.busy ? 'Splitting…' : 'Split'}</button>
      </div>
    </form>`;
    return html`<hone-dialog heading="Split off a validation set" .content=${content}></hone-dialog>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-split-dialog': SplitDialog;
  }
}
