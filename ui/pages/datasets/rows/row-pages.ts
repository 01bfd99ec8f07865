import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { RowShape } from '../../../../src/contract/rows.ts';
import type { ServiceError } from '../../../api/request.ts';
import { service } from '../../../api/service.ts';
import type { DatasetDetail } from '../../../api/types.ts';
import { formatCount } from '../../../elements/format.ts';
import { empty, modelName, serviceErrorPanel, skeleton } from '../../../elements/parts.ts';
import { Action } from '../../../state/action.ts';
import { router, toasts } from '../../../state/app.ts';
import { draft } from '../../../state/drafts/draft.ts';
import { asServiceError } from '../../../state/remote.ts';
import { Watch } from '../../../state/store.ts';
import '../../../views/datasets/dataset-rows.ts';
import { LightElement } from '../../../elements/light-element.ts';
import { cleanRows, type Fix } from '../clean-rows.ts';
import { deleteRow } from './delete-row.ts';
import './row-dialog.ts';

const pageRows = 25;

/**
 * The rows of a dataset by page, or those with some words, of a finding or flagged, which can be edited and flagged. The address has
 * the words, the filter, the order and the number of the first row. Fires `changed` when the rows are others.
 */
@customElement('hone-row-pages')
export class RowPages extends LightElement {
  @property() name = '';
  /** The version of the rows; they are read again when it is another. */
  @property() version = '';
  /** The number of rows. */
  @property({ attribute: false }) total = 0;
  @property({ attribute: false }) shape: RowShape | null = null;
  /** The lines that are shown; `null` for all, `undefined` while they are not known. */
  @property({ attribute: false }) only: readonly number[] | null | undefined = null;
  @state() private _page: DatasetDetail | null = null;
  @state() private _error: ServiceError | null = null;
  /** The first rows of the pages before this one, while searching. */
  private _before: readonly number[] = [];
  /** The row in the dialog, by its line. */
  @state() private _edited: number | 'new' | null = null;
  private _of = '';
  @state() private _asking: AbortController | null = null;
  private _shownWords = '';
  private readonly _cleaning = new Action(this);
  /** Why the tokens of the chosen model cannot be counted. */
  private _uncounted: string | null = null;

  constructor() {
    super();
    new Watch(this, router);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._asking?.abort();
    this._of = '';
  }

  /** The number of the first row, from 1. */
  private get _row(): number {
    const asked = Number(router.value.query.get('row') ?? 1);
    return Number.isInteger(asked) && asked > 0 ? asked : 1;
  }

  private get _sort(): 'length' | '-length' | undefined {
    const asked = router.value.query.get('sort');
    return asked === 'length' || asked === '-length' ? asked : undefined;
  }

  /** Whether only flagged rows are shown. */
  private get _flagged(): boolean {
    return router.value.query.get('flagged') === 'true';
  }

  private get _words(): string {
    return router.value.query.get('search') ?? '';
  }

  protected override willUpdate(): void {
    const of = JSON.stringify([
      this.name,
      this.version,
      this._row,
      this._words,
      this._sort,
      this._flagged,
      this.only,
    ]);
    if (!this.isConnected || this.only === undefined || of === this._of) return;
    this._of = of;
    void this._read();
  }

  private async _read(): Promise<void> {
    this._asking?.abort();
    const asking = new AbortController();
    this._asking = asking;
    try {
      const words = this._words;
      const sort = this._sort;
      const { model } = draft.value;
      const wanted = {
        from: this._row - 1,
        rows: pageRows,
        sort,
        flagged: this._flagged ? ('true' as const) : undefined,
        search: words || undefined,
        lines: this.only?.join(',') || undefined,
      };
      const read = (counted: string) =>
        service.dataset(this.name, { ...wanted, model_name: counted || undefined }, asking.signal);
      this._uncounted = null;
      this._page = await read(sort === undefined ? '' : model).catch((error) => {
        if (sort === undefined || model === '' || asking.signal.aborted) throw error;
        this._uncounted = asServiceError(error).message;
        return read('');
      });
      this._shownWords = words;
      this._error = null;
    } catch (error) {
      if (!asking.signal.aborted) this._error = asServiceError(error);
    } finally {
      if (this._asking === asking) this._asking = null;
    }
  }

  private _changed(): void {
    if (!this.isConnected) return;
    this.dispatchEvent(new CustomEvent('changed'));
  }

  private _dialog(version: string): TemplateResult | typeof nothing {
    const edited = this._edited;
    if (edited === null) return nothing;
    return html`<hone-row-dialog
      name=${this.name}
      .shape=${this.shape}
      .line=${edited === 'new' ? null : edited}
      version=${version}
      @changed=${() => this._changed()}
      @dismiss=${() => {
        this._edited = null;
      }}
    ></hone-row-dialog>`;
  }

  private _go(row: number, words: string, changes: Readonly<Record<string, string>> = {}): void {
    const query = new URLSearchParams(router.value.query);
    const asked = { row: row > 1 ? String(row) : '', search: words, ...changes };
    for (const [name, value] of Object.entries(asked)) {
      if (value === '') query.delete(name);
      else query.set(name, value);
    }
    const text = query.toString();
    router.go(`${location.pathname}${text === '' ? '' : `?${text}`}`, { replace: true });
  }

  private _next(): void {
    this._before = [...this._before, this._row];
    this._go((this._page?.next_from ?? 0) + 1, this._words);
  }

  private _previous(): void {
    const words = this._words;
    // Where the matches before these start is only known if they were shown.
    const before =
      (words === '' && this.only === null && !this._flagged) || this._sort !== undefined
        ? Math.max(1, this._row - pageRows)
        : (this._before.at(-1) ?? 1);
    this._before = this._before.slice(0, -1);
    this._go(before, words);
  }

  private _search(event: Event): void {
    event.preventDefault();
    const text = new FormData(event.target as HTMLFormElement).get('search');
    this._before = [];
    this._go(1, String(text).trim(), { finding: '' });
  }

  private _stop(): void {
    this._before = [];
    this._asking?.abort();
    this._go(1, '', { finding: '', flagged: '' });
  }

  protected override render(): TemplateResult {
    const page = this._page;
    if (page === null) {
      return this._error === null ? skeleton(8) : serviceErrorPanel('Could not load the rows', this._error);
    }
    const isBusy = this._asking !== null;
    return html`<div class="row between wrap-row">
        <form class="row" role="search" @submit=${this._search}>
          <input
            type="search"
            class="search"
            name="search"
            placeholder="Search rows"
            aria-label="Search rows"
            maxlength="1000"
            .value=${this._words}
          />
          <button type="submit" class="small">Search</button>
          ${this._words === '' && this.only === null ? nothing : html`<button type="button" class="small" @click=${this._stop}>${this._words === '' ? 'Show all rows' : isBusy ? 'Cancel' : 'Clear'}</button>`}
        </form>
        <button type="button" class="small" aria-pressed=${this._flagged} @click=${this._filter}>Flagged only</button>
        ${this._order()}
        <p class="tabular" role="status">${isBusy && this._words !== '' ? 'Searching…' : isBusy && this._sort !== undefined ? 'Ordering…' : this._count(page)}</p>
      </div>
      ${this._removals(page)}
      ${page.length_unit === null ? nothing : html`<p class="note wrap">${this._orderedBy(page.length_unit)}</p>`}
      ${this._error === null ? nothing : serviceErrorPanel('Could not load the rows', this._error)}
      ${
        page.rows.length === 0
          ? empty(
              this._flagged
                ? 'No flagged rows'
                : this._shownWords === ''
                  ? 'No rows here'
                  : 'No matching rows',
              this._flagged
                ? 'Flag a row with its button, or with the key F in it.'
                : 'Try other words or another row.',
            )
          : html`<hone-dataset-rows
              .rows=${page.rows}
              .numbers=${page.lines}
              .lengths=${page.lengths}
              unit=${page.length_unit === 'tokens' ? 'Tokens' : 'Characters'}
              words=${this._shownWords}
              label="Table of rows"
              .flagged=${page.flagged_rows}
              editable
              @flag=${({ detail }: CustomEvent<number>) => this._flag(page, detail)}
              @edit=${({ detail }: CustomEvent<number>) => {
                this._edited = detail;
              }}
              @delete=${({ detail }: CustomEvent<number>) =>
                deleteRow(this.name, detail, page.version, () => this._changed())}
            ></hone-dataset-rows>`
      }
      <div class="row wrap-row">
        <button type="button" class="small" ?disabled=${this._row === 1} @click=${this._previous}>Previous</button>
        <button type="button" class="small" ?disabled=${page.next_from === null} @click=${this._next}>Next</button>
        <form class="row" @submit=${this._jump}>
          <label for="jump-row">Row</label>
          <input
            id="jump-row"
            class="jump"
            name="row"
            type="text"
            inputmode="numeric"
            autocomplete="off"
            .value=${String(this._row)}
          />
          <button type="submit" class="small">Go</button>
        </form>
        ${
          this.shape === null
            ? nothing
            : html`<button
                type="button"
                class="small"
                @click=${() => {
                  this._edited = 'new';
                }}
              >
                Add row…
              </button>`
        }
      </div>
      ${this._dialog(page.version)}`;
  }

  private _filter(): void {
    this._before = [];
    this._go(1, this._words, { flagged: this._flagged ? '' : 'true', finding: '' });
  }

  /** Flags a row, or takes its flag away. */
  private async _flag(page: DatasetDetail, line: number): Promise<void> {
    const place = page.lines.indexOf(line);
    const isFlagged = page.flagged_rows.includes(place);
    const { version } = page;
    try {
      await service.flagRows(
        this.name,
        isFlagged ? { version, unflagged: [line] } : { version, flagged: [line] },
      );
    } catch (error) {
      toasts.show(asServiceError(error).message, 'error');
      this._changed();
      return;
    }
    const now = this._page;
    if (now?.version !== version || now.lines[place] !== line) return;
    const others = now.flagged_rows.filter((one) => one !== place);
    this._page = { ...now, flagged_rows: isFlagged ? others : [...others, place] };
  }

  /** What is done with all flagged rows. */
  private _removals({ version, rows }: DatasetDetail): TemplateResult | typeof nothing {
    if (!this._flagged || this.shape === null || rows.length === 0) return nothing;
    const removal = (fix: Fix, label: string) => html`<button
      type="button"
      class="small"
      @click=${async () => {
        await this._cleaning.run(() => cleanRows(this.name, { version, fix }, () => this._changed()));
        if (this._cleaning.error === null) this._stop();
        this._changed();
      }}
      ?disabled=${this._cleaning.busy}
    >
      ${label}
    </button>`;
    return html`${this._cleaning.error === null ? nothing : serviceErrorPanel('Could not remove the rows', this._cleaning.error)}
      <div class="row wrap-row">
        ${removal('flagged_rows', 'Remove flagged rows')} ${removal('unflagged_rows', 'Keep only flagged rows')}
      </div>`;
  }

  private _order(): TemplateResult {
    const sort = this._sort ?? '';
    const choices = { '': 'As in the file', '-length': 'Longest first', length: 'Shortest first' };
    return html`<label class="row">Order
      <select
        @change=${({ target }: Event) => {
          this._before = [];
          this._go(1, this._words, { sort: (target as HTMLSelectElement).value });
        }}
      >
        ${Object.entries(choices).map(([value, words]) => html`<option value=${value} ?selected=${value === sort}>${words}</option>`)}
      </select>
    </label>`;
  }

  private _orderedBy(unit: NonNullable<DatasetDetail['length_unit']>): TemplateResult {
    const { model } = draft.value;
    if (unit === 'tokens') return html`By tokens of ${modelName(model)}, the model of the training form.`;
    if (this._uncounted !== null)
      return html`By characters, because the tokens of ${modelName(model)} cannot be counted: <bdi>${this._uncounted}</bdi>`;
    return html`By characters of their texts. ${
      model === ''
        ? 'Choose a model in the training form to order by its tokens.'
        : 'There are too many rows to count their tokens.'
    }`;
  }

  /** Which rows are shown, in words. */
  private _count({ rows, lines, next_from: next, total }: DatasetDetail): string {
    const count = rows.length;
    if (count === 0) return '';
    if (this.only) return `${formatCount(total ?? this.only.length)} of ${formatCount(this.total)} rows`;
    const isSome = this._shownWords !== '' || this._flagged;
    if (!isSome) {
      return `Rows ${formatCount(this._row)} to ${formatCount(this._row + count - 1)} of ${formatCount(this.total)}`;
    }
    const [one, many] = this._flagged ? ['flagged row', 'flagged rows'] : ['match', 'matches'];
    if (total !== null) return `${formatCount(total)} ${total === 1 ? one : many}`;
    const found = `${this._flagged ? 'Flagged rows' : 'Matches'} in lines ${formatCount(lines[0])} to ${formatCount(lines.at(-1))}`;
    return next === null ? `${found}, the last ones` : `${found}, and more`;
  }

  private _jump(event: Event): void {
    event.preventDefault();
    const text = new FormData(event.target as HTMLFormElement).get('row');
    const row = Number(String(text).replaceAll(/[\s,]/g, ''));
    if (Number.isInteger(row) && row > 0) this._go(Math.min(row, Math.max(1, this.total)), this._words);
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-row-pages': RowPages;
  }
}
