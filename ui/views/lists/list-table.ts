import { html, type TemplateResult } from 'lit';
import { type Child, keyedRow } from '../../elements/child.ts';
import type { ChosenEntries } from './chosen-entries.ts';
import type { ListOrder } from './list-order.ts';
import type { ChosenColumns, ListColumn } from './list-tools.ts';

/** A list whose entries can be chosen; its columns are those that the person has chosen. */
export interface ListTable<T> {
  /** One entry, in words: a run, a model. */
  readonly noun: string;
  readonly entries: readonly T[];
  readonly columns: ChosenColumns<ListColumn<T>>;
  /** What the box that chooses an entry is called. */
  readonly boxOf: (entry: T) => string;
  /** The first column, which is always shown. */
  readonly nameOf: (entry: T) => Child;
  readonly chosen: ChosenEntries<T>;
  /** By any of its columns or by `name`. */
  readonly order: ListOrder;
  /** Whether an entry belongs to the one before it. */
  readonly isUnder?: (entry: T) => boolean;
}

/** The table of a list, with a box in front of every entry. */
export function listTable<T>(list: ListTable<T>): TemplateResult {
  const { noun, entries, chosen, columns, order } = list;
  const classOf = (column: ListColumn<T>) => columns.classOf(column, order.now.key);
  const isAll = entries.length > 0 && entries.every((entry) => chosen.has(entry));
  const isOn = (event: Event) => (event.target as HTMLInputElement).checked;
  return html`<div class="scroll-box" tabindex="0" role="region" aria-label="Table of ${noun}s">
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">
            <input
              type="checkbox"
              aria-label="Select all shown ${noun}s"
              .checked=${isAll}
              @change=${(event: Event) => chosen.choose(entries, isOn(event))}
            />
          </th>
          ${order.heading('name', `${noun.charAt(0).toUpperCase()}${noun.slice(1)}`)}
          ${columns.shown.map((column) => order.heading(column.key, column.name, classOf(column)))}
        </tr>
      </thead>
      <tbody>
        ${keyedRow(
          entries,
          chosen.idOf,
          (entry) => html`<tr class=${list.isUnder?.(entry) ? 'under' : ''}>
            <td>
              <input
                type="checkbox"
                aria-label="Select ${list.boxOf(entry)}"
                .checked=${chosen.has(entry)}
                @change=${(event: Event) => chosen.choose([entry], isOn(event))}
              />
            </td>
            <th scope="row" class="two-lines">${list.nameOf(entry)}</th>
            ${columns.shown.map((column) => html`<td class=${classOf(column)}>${column.of(entry)}</td>`)}
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
