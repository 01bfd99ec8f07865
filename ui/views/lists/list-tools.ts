import { html, nothing, type TemplateResult } from 'lit';
import type { Facets } from '../../api/types.ts';
import type { Child } from '../../elements/child.ts';
import { checkField } from '../../elements/fields.ts';
import { menu } from '../../elements/menu.ts';
import { readStored, writeStored } from '../../state/local-storage.ts';

/** A column of a list, besides that of the names. */
export interface ListColumn<T> {
  readonly key: string;
  readonly name: string;
  readonly right: boolean;
  /** Shown unless another choice was made. */
  readonly usual: boolean;
  /** From which width on a usual column is shown; one that was chosen is always shown. */
  readonly spare: 'spare' | 'spare-narrow' | '';
  readonly of: (entry: T) => Child;
}

/** The columns of a list that are shown, kept in the browser; the usual ones until others are chosen. */
export class ChosenColumns<C extends ListColumn<never>> {
  readonly #all: readonly C[];
  readonly #key: string;
  #chosen: readonly string[] | null;

  constructor(key: string, all: readonly C[]) {
    this.#key = key;
    this.#all = all;
    const stored = readStored<unknown>(key, null);
    this.#chosen = Array.isArray(stored) ? stored.filter((name) => typeof name === 'string') : null;
  }

  get shown(): readonly C[] {
    return this.#all.filter(({ key, usual }) => this.#chosen?.includes(key) ?? usual);
  }

  /** The classes of a column's cells. @param order the column by which the list is ordered, which is always shown. */
  classOf({ right, spare, key }: C, order: string): string {
    return `${right ? 'right' : ''} ${this.#chosen === null && key !== order ? spare : ''}`;
  }

  /** A menu of the columns. @param changed is called after a choice. */
  menu(changed: () => void): TemplateResult {
    const shown = this.shown.map(({ key }) => key);
    const keep = (next: readonly string[] | null) => {
      this.#chosen = next;
      writeStored(this.#key, next);
      changed();
    };
    const boxes = html`<fieldset class="menu-body">
      <legend class="off-screen">Columns</legend>
      ${this.#all.map(({ key, name }) =>
        checkField(name, shown.includes(key), (on) =>
          keep(this.#all.map((one) => one.key).filter((one) => (one === key ? on : shown.includes(one)))),
        ),
      )}
      <button type="button" class="link" ?disabled=${this.#chosen === null} @click=${() => keep(null)}>
        Usual columns
      </button>
    </fieldset>`;
    return menu('Columns', boxes);
  }
}

/** A select that filters a list by a value; nothing while there is none to choose. */
export function filterSelect(
  label: string,
  options: readonly { readonly value: string; readonly name: string }[],
  chosen: string,
  choose: (value: string) => void,
): TemplateResult | typeof nothing {
  const isKnown = chosen === '' || options.some(({ value }) => value === chosen);
  const all = isKnown ? options : [{ value: chosen, name: chosen }, ...options];
  if (all.length === 0) return nothing;
  return html`<select
    class="filter"
    aria-label="Filter by ${label}"
    @change=${(event: Event) => choose((event.target as HTMLSelectElement).value)}
  >
    <option value="" ?selected=${chosen === ''}>Any ${label}</option>
    ${all.map(({ value, name }) => html`<option value=${value} ?selected=${value === chosen}>${name}</option>`)}
  </select>`;
}

/** The values of a facet as options, with their numbers. */
export const facetOptions = (facet: Facets['tags'] | undefined) =>
  (facet ?? []).map(({ value, count }) => ({ value, name: `${value} (${count.toLocaleString('en')})` }));

/** What is above a list: its search, its filters, its columns, and how many entries it shows. */
export function listTools(tools: {
  /** What the list has, in words: runs, models. */
  readonly of: string;
  readonly words: string;
  readonly search: (words: string) => void;
  readonly filters: Child;
  readonly columns: TemplateResult;
  readonly shown: number;
  readonly total: number;
}): TemplateResult {
  return html`<div class="row wrap-row list-tools">
    <input
      type="search"
      class="search"
      placeholder="Search ${tools.of}"
      aria-label="Search ${tools.of}"
      maxlength="200"
      .value=${tools.words}
      @input=${(event: Event) => tools.search((event.target as HTMLInputElement).value)}
    />
    ${tools.filters} ${tools.columns}
    <span class="muted tabular" role="status">
      ${tools.shown.toLocaleString('en')} of ${tools.total.toLocaleString('en')}
    </span>
  </div>`;
}
