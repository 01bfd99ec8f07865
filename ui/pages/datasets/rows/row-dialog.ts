import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { RowShape } from '../../../../src/contract/rows.ts';
import { service } from '../../../api/service.ts';
import { formatCount } from '../../../elements/format.ts';
import { LightElement } from '../../../elements/light-element.ts';
import { serviceErrorPanel, skeleton } from '../../../elements/parts.ts';
import { Action } from '../../../state/action.ts';
import { toasts } from '../../../state/app.ts';
import { asServiceError } from '../../../state/remote.ts';
import { fieldsOf, type RowField, rowTextOf } from './row-text.ts';

/**
 * The dialog that edits a row, or adds one. Fires `changed` when it is stored. What was typed stays when the row was
 * changed elsewhere meanwhile: the dialog then shows the row as it is now, and can replace it.
 */
@customElement('hone-row-dialog')
export class RowDialog extends LightElement {
  @property() name = '';
  @property({ attribute: false }) shape: RowShape | null = null;
  /** The number of the row's line; `null` for a new row. */
  @property({ attribute: false }) line: number | null = null;
  /** The version of the rows that are shown. */
  @property() version = '';
  /** `null` before the row was read, or if it is no JSON object: then `_text` is edited. */
  @state() private _fields: readonly RowField[] | null = null;
  @state() private _text: string | null = null;
  /** What the row became meanwhile. */
  @state() private _now: string | null = null;
  @state() private _fault: string | null = null;
  private _version = '';
  private readonly _action = new Action(this);

  override connectedCallback(): void {
    super.connectedCallback();
    this._version = this.version;
    if (this.line === null) this._fill('{}');
    else void this._action.run(() => this._read());
  }

  private _fill(text: string): void {
    this._text = text;
    this._fields = fieldsOf(text, this.shape);
  }

  private async _read(): Promise<void> {
    const { text, version } = await service.datasetRow(this.name, this.line ?? 0);
    // Another row may be in this line now.
    if (version !== this._version) this._now = text;
    this._version = version;
    this._fill(text);
  }

  private async _save(event: Event): Promise<void> {
    event.preventDefault();
    const { name, line } = this;
    this._fault = null;
    let text = this._text ?? '';
    try {
      if (this._fields !== null) text = rowTextOf(this._fields);
      else JSON.parse(text);
    } catch (error) {
      this._fault = (error as Error).message;
      return;
    }
    await this._action.run(async () => {
      if (line === null) await service.addRows(name, [JSON.parse(text)]);
      else await this._change(line, text.replaceAll(/[\r\n]+/g, ' '));
      toasts.show(line === null ? 'The row was added.' : `Row ${formatCount(line)} was changed.`);
      this.dispatchEvent(new CustomEvent('changed'));
      this.querySelector('dialog')?.close();
    });
  }

  private async _change(line: number, text: string): Promise<void> {
    const { name, _version: version } = this;
    try {
      await service.editRows(name, { version, changes: [{ line, text }] });
    } catch (error) {
      if (asServiceError(error).status === 409) {
        const now = await service.datasetRow(name, line);
        this._now = now.text;
        this._version = now.version;
      }
      throw error;
    }
  }

  private _field({ name, text, isJson }: RowField, index: number): TemplateResult {
    const id = `row-field-${index}`;
    return html`<div class="field">
      <label for=${id}><bdi>${name}</bdi>${isJson ? ' (JSON)' : ''}</label>
      <textarea
        id=${id}
        class=${isJson ? 'mono' : nothing}
        rows=${Math.min(12, Math.max(2, text.split('\n').length, Math.ceil(text.length / 80)))}
        ?autofocus=${index === 0}
        .value=${text}
        @input=${(event: Event) => {
          const changed = { name, isJson, text: (event.target as HTMLTextAreaElement).value };
          this._fields = (this._fields ?? []).with(index, changed);
        }}
      ></textarea>
    </div>`;
  }

  private _inputs(): TemplateResult | readonly TemplateResult[] {
    if (this._fields !== null) return this._fields.map((field, index) => this._field(field, index));
    return html`<div class="field">
      <label for="row-text">Row as JSON</label>
      <textarea
        id="row-text"
        class="mono"
        rows="8"
        autofocus
        .value=${this._text ?? ''}
        @input=${(event: Event) => {
          this._text = (event.target as HTMLTextAreaElement).value;
        }}
      ></textarea>
    </div>`;
  }

  protected override render(): TemplateResult {
    const { error, busy } = this._action;
    const { line, _now: now } = this;
    const heading = line === null ? 'Add row' : `Edit row ${formatCount(line)}`;
    const content = html`<form class="stack" @submit=${(event: Event) => this._save(event)}>
      ${this._text === null ? (error === null ? skeleton(4) : nothing) : this._inputs()}
      ${this._fault === null ? nothing : html`<p class="warning wrap" role="alert"><bdi>${this._fault}</bdi></p>`}
      ${error === null ? nothing : serviceErrorPanel(`Could not ${this._text === null ? 'load' : 'save'} the row`, error)}
      ${
        now === null || line === null
          ? nothing
          : html`<div>
              <p>Row ${formatCount(line)} is now:</p>
              <p class="sample-text wrap mono answer-row" tabindex="0"><bdi>${now}</bdi></p>
            </div>`
      }
      <div class="row end">
        <button type="submit" class="primary" ?disabled=${busy || this._text === null}>
          ${busy ? 'Saving…' : now === null ? 'Save' : 'Replace it'}
        </button>
      </div>
    </form>`;
    return html`<hone-dialog heading=${heading} .content=${content}></hone-dialog>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-row-dialog': RowDialog;
  }
}
