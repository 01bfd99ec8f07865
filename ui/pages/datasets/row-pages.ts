import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import type { DatasetDetail } from '../../api/types.ts';
import { formatCount } from '../../elements/format.ts';
import { serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { router } from '../../state/app.ts';
import { asServiceError } from '../../state/remote.ts';
import { Watch } from '../../state/store.ts';
import '../../views/dataset-rows.ts';

const pageRows = 25;

/** The rows of a dataset by page. The address has the number of the first row. */
@customElement('hone-row-pages')
export class RowPages extends LitElement {
  @property() name = '';
  /** The number of rows. */
  @property({ attribute: false }) total = 0;
  @state() private _page: DatasetDetail | null = null;
  @state() private _error: ServiceError | null = null;
  private _of = '';
  private _asking: AbortController | null = null;

  constructor() {
    super();
    new Watch(this, router);
  }

  protected override createRenderRoot(): this {
    return this;
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

  protected override willUpdate(): void {
    const of = JSON.stringify([this.name, this._row]);
    if (!this.isConnected || of === this._of) return;
    this._of = of;
    void this._read();
  }

  private async _read(): Promise<void> {
    this._asking?.abort();
    const asking = new AbortController();
    this._asking = asking;
    try {
      this._page = await service.dataset(this.name, { from: this._row - 1, rows: pageRows }, asking.signal);
      this._error = null;
    } catch (error) {
      if (!asking.signal.aborted) this._error = asServiceError(error);
    }
  }

  private _go(row: number): void {
    const query = new URLSearchParams(router.value.query);
    if (row > 1) query.set('row', String(row));
    else query.delete('row');
    const text = query.toString();
    router.go(`${location.pathname}${text === '' ? '' : `?${text}`}`, { replace: true });
  }

  protected override render(): TemplateResult {
    const page = this._page;
    const row = this._row;
    if (page === null) {
      return this._error === null ? skeleton(8) : serviceErrorPanel('Could not load the rows', this._error);
    }
    const count = page.rows.length;
    const next = page.next_from;
    return html`<div class="row between wrap-row">
        <p class="tabular" role="status">
          ${count === 0 ? 'No rows here' : `Rows ${formatCount(row)} to ${formatCount(row + count - 1)} of ${formatCount(this.total)}`}
        </p>
        <div class="row wrap-row">
          <button type="button" class="small" ?disabled=${row === 1} @click=${() => this._go(Math.max(1, row - pageRows))}>
            Previous
          </button>
          <button type="button" class="small" ?disabled=${next === null} @click=${() => this._go((next ?? 0) + 1)}>
            Next
          </button>
          <form class="row" @submit=${this._jump}>
            <label for="jump-row">Row</label>
            <input id="jump-row" class="jump" name="row" type="text" inputmode="numeric" autocomplete="off" .value=${String(row)} />
            <button type="submit" class="small">Go</button>
          </form>
        </div>
      </div>
      ${this._error === null ? nothing : serviceErrorPanel('Could not load the rows', this._error)}
      <hone-dataset-rows
        .rows=${page.rows}
        .numbers=${page.rows.map((_, index) => row + index)}
        label="Rows of the dataset"
      ></hone-dataset-rows>`;
  }

  private _jump(event: Event): void {
    event.preventDefault();
    const text = new FormData(event.target as HTMLFormElement).get('row');
    const row = Number(String(text).replaceAll(/[\s,]/g, ''));
    if (Number.isInteger(row) && row > 0) this._go(Math.min(row, Math.max(1, this.total)));
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-row-pages': RowPages;
  }
}
