import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { RowShape } from '../../../../src/contract/rows.ts';
import type { ServiceError } from '../../../api/request.ts';
import { service } from '../../../api/service.ts';
import type { DatasetDetail } from '../../../api/types.ts';
import { formatCount } from '../../../elements/format.ts';
import { empty, serviceErrorPanel, skeleton } from '../../../elements/parts.ts';
import { router } from '../../../state/app.ts';
import { asServiceError } from '../../../state/remote.ts';
import { Watch } from '../../../state/store.ts';
import '../../../views/datasets/dataset-rows.ts';
import { LightElement } from '../../../elements/light-element.ts';
import { deleteRow } from './delete-row.ts';
import './row-dialog.ts';

const pageRows = 25;

/**
 * The rows of a dataset by page, or those with some words or of a finding, which can be edited. The address has the words and the number
 * of the first row. Fires `changed` when the rows are others.
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

  private get _words(): string {
    return router.value.query.get('search') ?? '';
  }

  protected override willUpdate(): void {
    const of = JSON.stringify([this.name, this.version, this._row, this._words, this.only]);
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
      this._page = await service.dataset(
        this.name,
        {
          from: this._row - 1,
          rows: pageRows,
          search: words || undefined,
          lines: this.only?.join(',') || undefined,
        },
        asking.signal,
      );
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

  private _go(row: number, words: string, keepsFinding = true): void {
    const query = new URLSearchParams(router.value.query);
    if (!keepsFinding) query.delete('finding');
    if (row > 1) query.set('row', String(row));
    else query.delete('row');
    if (words !== '') query.set('search', words);
    else query.delete('search');
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
      words === '' && this.only === null ? Math.max(1, this._row - pageRows) : (this._before.at(-1) ?? 1);
    this._before = this._before.slice(0, -1);
    this._go(before, words);
  }

  private _search(event: Event): void {
    event.preventDefault();
    const text = new FormData(event.target as HTMLFormElement).get('search');
    this._before = [];
    this._go(1, String(text).trim(), false);
  }

  private _stop(): void {
    this._before = [];
    this._asking?.abort();
    this._go(1, '', false);
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
        <p class="tabular" role="status">${isBusy && this._words !== '' ? 'Searching…' : this._count(page)}</p>
      </div>
      ${this._error === null ? nothing : serviceErrorPanel('Could not load the rows', this._error)}
      ${
        page.rows.length === 0
          ? empty(
              this._shownWords === '' ? 'No rows here' : 'No matching rows',
              'Try other words or another row.',
            )
          : html`<hone-dataset-rows
              .rows=${page.rows}
              .numbers=${page.lines}
              words=${this._shownWords}
              label="Rows of the dataset"
              editable
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

  /** Which rows are shown, in words. */
  private _count({ rows, lines, next_from: next, total }: DatasetDetail): string {
    const count = rows.length;
    if (count === 0) return '';
    if (this.only) return `${formatCount(total ?? this.only.length)} of ${formatCount(this.total)} rows`;
    if (this._shownWords === '') {
      return `Rows ${formatCount(this._row)} to ${formatCount(this._row + count - 1)} of ${formatCount(this.total)}`;
    }
    if (total !== null) return `${formatCount(total)} ${total === 1 ? 'match' : 'matches'}`;
    const found = `Matches in lines ${formatCount(lines[0])} to ${formatCount(lines.at(-1))}`;
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
