import { html, nothing, type TemplateResult } from 'lit';
import { type Child, keyedRow } from '../../elements/child.ts';
import type { ChosenEntries } from './chosen-entries.ts';
import type { ChosenColumns, ListColumn } from './list-tools.ts';

/** The order of a list. */
export interface ListOrder {
  readonly key: string;
  readonly down: boolean;
}

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
  /** Where a list can be ordered, by any of its columns or by `name`. */
  readonly order?: { readonly now: ListOrder; readonly change: (order: ListOrder) => void };
}

/** The table of a list, with a box in front of every entry. */
export function listTable<T>(list: ListTable<T>): TemplateResult {
  const { noun, entries, chosen, columns } = list;
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
          ${heading(list, 'name', `${noun.charAt(0).toUpperCase()}${noun.slice(1)}`, '')}
          ${columns.shown.map((column) => heading(list, column.key, column.name, columns.classOf(column)))}
        </tr>
      </thead>
      <tbody>
        ${keyedRow(
          entries,
          chosen.idOf,
          (entry) => html`<tr>
            <td>
              <input
                type="checkbox"
                aria-label="Select ${list.boxOf(entry)}"
                .checked=${chosen.has(entry)}
                @change=${(event: Event) => chosen.choose([entry], isOn(event))}
              />
            </td>
            <th scope="row" class="two-lines">${list.nameOf(entry)}</th>
            ${columns.shown.map((column) => html`<td class=${columns.classOf(column)}>${column.of(entry)}</td>`)}
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

function heading<T>({ order }: ListTable<T>, key: string, name: string, classes: string): TemplateResult {
  if (order === undefined) return html`<th scope="col" class=${classes}>${name}</th>`;
  const { now, change } = order;
  const isIt = now.key === key;
  return html`<th scope="col" class=${classes} aria-sort=${isIt ? (now.down ? 'descending' : 'ascending') : nothing}>
    <button type="button" class="sort" @click=${() => change({ key, down: isIt && !now.down })}>
      ${name}<span aria-hidden="true">${isIt ? (now.down ? ' ↓' : ' ↑') : ''}</span>
    </button>
  </th>`;
}
