import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { Child } from '../../elements/child.ts';
import { formatCount } from '../../elements/format.ts';
import { matcher } from '../../elements/highlight.ts';
import { LightElement } from '../../elements/light-element.ts';
import { isFlagKey } from './flag-key.ts';
import { asObject, cutText, lastTurn, messagesOf, rowFields, sharedSystem, textOf } from './row-fields.ts';

const cellLimit = 240;
const fieldLimit = 12;

/**
 * Rows of a dataset as a table. A row's number shows its whole texts below it. If they can be edited, fires `edit`,
 * `delete` and `flag` with the number of a row; the key F in a row flags it, too.
 */
@customElement('hone-dataset-rows')
export class DatasetRows extends LightElement {
  @property({ attribute: false }) rows: readonly unknown[] = [];
  /** The numbers of the rows, from 1. */
  @property({ attribute: false }) numbers: readonly number[] = [];
  /** The places of the rows that are flagged. */
  @property({ attribute: false }) flagged: readonly number[] = [];
  /** The lengths of the rows, if they are in this order, and their unit. */
  @property({ attribute: false }) lengths: readonly number[] | null = null;
  @property() unit = '';
  @property() label = '';
  /** Words to mark. */
  @property() words = '';
  @property({ type: Boolean }) editable = false;
  @state() private _open: ReadonlySet<number> = new Set();

  protected override willUpdate(changed: Map<PropertyKey, unknown>): void {
    if (changed.has('rows')) this._open = new Set();
  }

  private _toggle(number: number): void {
    const open = new Set(this._open);
    if (!open.delete(number)) open.add(number);
    this._open = open;
  }

  protected override render(): TemplateResult {
    const found = matcher(this.words);
    const objects = this.rows.map(asObject);
    const fields = [...new Set(objects.flatMap((row) => Object.keys(row)))].slice(0, fieldLimit);
    const system = sharedSystem(objects);
    return html`${system === null ? nothing : html`<p class="note wrap">System prompt of these rows: <bdi>${cutText(system, cellLimit, found)}</bdi></p>`}
    <div class="scroll-box" tabindex="0" role="region" aria-label=${this.label}>
      <table class="rows preview">
        <thead>
          <tr>
            <th scope="col" class="right">#</th>
            ${this.lengths === null ? nothing : html`<th scope="col" class="right">${this.unit}</th>`}
            ${fields.map((field) => html`<th scope="col"><bdi>${field}</bdi></th>`)}
            ${this.editable ? html`<th scope="col"><span class="off-screen">Edit</span></th>` : nothing}
          </tr>
        </thead>
        <tbody>
          ${objects.map((row, index) => this._row(row, index, fields, { found, isSystemTold: system !== null }))}
        </tbody>
      </table>
    </div>`;
  }

  private _tell(event: 'edit' | 'delete' | 'flag', number: number): void {
    this.dispatchEvent(new CustomEvent(event, { detail: number }));
  }

  private _tools(number: number, isFlagged: boolean): TemplateResult {
    const tool = (event: 'edit' | 'delete' | 'flag', label: string) => html`<button
      type="button"
      class="small"
      aria-label="${label} row ${number}"
      aria-pressed=${event === 'flag' ? isFlagged : nothing}
      @click=${() => this._tell(event, number)}
    >
      ${label}
    </button>`;
    return html`<div class="row end">${tool('flag', 'Flag')} ${tool('edit', 'Edit')} ${tool('delete', 'Delete')}</div>`;
  }

  private _pressed(event: KeyboardEvent, number: number): void {
    if (!this.editable || !isFlagKey(event)) return;
    event.preventDefault();
    this._tell('flag', number);
  }

  private _row(
    row: Record<string, unknown>,
    index: number,
    fields: readonly string[],
    { found, isSystemTold }: { readonly found: RegExp | null; readonly isSystemTold: boolean },
  ): TemplateResult {
    const number = this.numbers[index] ?? index + 1;
    const length = this.lengths?.[index];
    const columns = 1 + (length === undefined ? 0 : 1) + fields.length + (this.editable ? 1 : 0);
    const isOpen = this._open.has(number);
    const isFlagged = this.flagged.includes(index);
    return html`<tr data-flagged=${isFlagged ? 'yes' : nothing} @keydown=${(event: KeyboardEvent) => this._pressed(event, number)}>
        <td class="right">
          <button
            type="button"
            class="link tabular"
            aria-label="Row ${number}"
            aria-expanded=${isOpen}
            @click=${() => this._toggle(number)}
          >
            ${formatCount(number)}
          </button>
        </td>
        ${length === undefined ? nothing : html`<td class="right">${formatCount(length)}</td>`}
        ${fields.map((field) => html`<td class="wrap"><bdi>${cell(row[field], found, isSystemTold)}</bdi></td>`)}
        ${this.editable ? html`<td class="right">${this._tools(number, isFlagged)}</td>` : nothing}
      </tr>
      ${
        isOpen
          ? html`<tr class="whole-row">
              <td colspan=${columns}>
                ${rowFields(row, found)}
              </td>
            </tr>`
          : nothing
      }`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-dataset-rows': DatasetRows;
  }
}

/** A value, cut to what a cell can show; of a conversation the last turn, unless only others have the words looked for. */
function cell(value: unknown, found: RegExp | null, isSystemTold: boolean): Child {
  const messages = messagesOf(value);
  if (messages === null) return cutText(textOf(value), cellLimit, found);
  const last = lastTurn(messages, isSystemTold);
  if (found === null || last.search(found) >= 0) return cutText(last, cellLimit, found);
  return cutText(
    messages.map(({ role, content }) => `${role}: ${textOf(content)}`).join(' · '),
    cellLimit,
    found,
  );
}
