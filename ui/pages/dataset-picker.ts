import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { request, type ServiceError } from '../api/request.ts';
import type { Uploaded } from '../api/types.ts';
import { uploadDataset } from '../api/upload.ts';
import { nameText, option, progressBar, serviceErrorPanel, skeleton } from '../elements/parts.ts';
import { formatAgo, formatBytes, formatCount } from '../format.ts';
import { datasets, offers } from '../state/app.ts';
import { draft } from '../state/draft.ts';
import { asServiceError } from '../state/remote.ts';
import { Watch } from '../state/store.ts';
import './row-view.ts';

const faultsShown = 8;
const cellLimit = 240;
const detailRoute = 'GET /api/datasets/{name}';

const shapeFields: Readonly<Record<string, string>> = {
  'text-generation': 'input, output',
  summarization: 'input, output',
  'extractive-question-answering': 'context, question, answer',
};

/** First rows of a dataset, where the service tells them. */
interface Detail {
  readonly filename: string;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/** The dataset: one that is there, or a new file with its progress and the faults of its rows. */
@customElement('hone-dataset-picker')
export class DatasetPicker extends LitElement {
  @state() private _uploading: { readonly name: string; readonly fraction: number } | null = null;
  @state() private _uploaded: Uploaded | null = null;
  @state() private _error: ServiceError | null = null;
  @state() private _over = false;
  @state() private _detail: Detail | null = null;
  private _detailOf = '';
  private _abort: AbortController | null = null;

  constructor() {
    super();
    new Watch(this, draft, datasets, offers);
  }

  protected override createRenderRoot(): this {
    return this;
  }

  protected override willUpdate(): void {
    const { dataset } = draft.value;
    const known = datasets.value.value;
    if (
      known !== null &&
      dataset !== '' &&
      !known.some(({ filename }) => filename === dataset) &&
      !datasets.value.loading
    ) {
      draft.change({ dataset: '' });
    }
    if (dataset !== this._detailOf && offers.value.has(detailRoute)) {
      this._detailOf = dataset;
      this._detail = null;
      if (dataset !== '') void this._readDetail(dataset);
    }
  }

  private async _readDetail(name: string): Promise<void> {
    const detail = await request<Detail>(`/api/datasets/${encodeURIComponent(name)}`).catch(() => null);
    if (draft.value.dataset === name) this._detail = detail;
  }

  private async _upload(file: File | undefined): Promise<void> {
    if (file === undefined || this._uploading !== null) return;
    this._error = null;
    this._uploaded = null;
    this._uploading = { name: file.name, fraction: 0 };
    this._abort = new AbortController();
    try {
      const uploaded = await uploadDataset(
        file,
        (fraction) => {
          this._uploading = { name: file.name, fraction };
        },
        this._abort.signal,
      );
      this._uploaded = uploaded;
      this._detailOf = '';
      await datasets.refresh();
      if (uploaded.validation.valid) draft.change({ dataset: uploaded.filename });
    } catch (error) {
      if (!this._abort.signal.aborted) this._error = asServiceError(error);
    } finally {
      this._uploading = null;
    }
  }

  private _dropped(event: DragEvent): void {
    event.preventDefault();
    this._over = false;
    void this._upload(event.dataTransfer?.files[0]);
  }

  protected override render(): TemplateResult {
    const { value, error } = datasets.value;
    return html`
      <div
        class="drop"
        data-over=${this._over ? 'yes' : nothing}
        @dragover=${(event: DragEvent) => {
          event.preventDefault();
          this._over = true;
        }}
        @dragleave=${() => {
          this._over = false;
        }}
        @drop=${this._dropped}
      >
        ${this._uploading === null ? this._invitation() : this._progress(this._uploading)}
      </div>
      ${this._error === null ? nothing : serviceErrorPanel('The file was not stored', this._error)}
      ${this._uploaded === null ? nothing : this._verdict(this._uploaded)}
      ${
        value === null
          ? error === null
            ? skeleton(2)
            : serviceErrorPanel('The datasets could not be read', error)
          : this._list()
      }
      ${this._detail === null ? nothing : preview(this._detail)}
      <hone-row-view></hone-row-view>
    `;
  }

  private _invitation(): TemplateResult {
    return html`<p>
        <label class="button" for="dataset-file">Choose a file</label>
        <input
          id="dataset-file"
          class="off-screen"
          type="file"
          accept=".jsonl"
          @change=${(event: Event) => {
            const input = event.target as HTMLInputElement;
            void this._upload(input.files?.[0]);
            input.value = '';
          }}
        />
        <span class="muted">or drop it here</span>
      </p>
      <p class="muted">
        JSONL, one object on each line with ${shapeFields[draft.value.task] ?? 'the fields of the task'}; at least 10
        rows.
      </p>`;
  }

  private _progress({ name, fraction }: { name: string; fraction: number }): TemplateResult {
    const percent = Math.round(fraction * 100);
    return html`<p class="row between">
        ${nameText(name)}<span class="tabular">${percent === 100 ? 'checking rows…' : `${percent} %`}</span>
      </p>
      ${progressBar('Upload', fraction * 100)}
      <p><button type="button" class="small" @click=${() => this._abort?.abort()}>Cancel</button></p>`;
  }

  private _verdict({ filename, num_examples, validation }: Uploaded): TemplateResult {
    if (validation.valid) {
      return html`<p class="check-line" role="status">
        <span class="good">✓ ${nameText(filename)}</span>
        <span class="muted">${formatCount(num_examples)} rows, all valid</span>
      </p>`;
    }
    const faults =
      validation.details ?? validation.errors.map((message) => ({ line: null, field: null, message }));
    const total = validation.total_errors ?? faults.length;
    return html`<div class="panel-error" role="alert">
      <p class="panel-title">${nameText(filename)} has ${total === 1 ? 'a fault' : `${formatCount(total)} faults`}</p>
      <div class="scroll-box" tabindex="0" role="region" aria-label="Faults of the dataset">
        <table class="rows">
          <thead>
            <tr><th scope="col" class="right">Line</th><th scope="col">Field</th><th scope="col">What is wrong</th></tr>
          </thead>
          <tbody>
            ${faults.slice(0, faultsShown).map(
              ({ line, field, message }) => html`<tr>
                <td class="right">${line ?? '–'}</td>
                <td><code>${field ?? '–'}</code></td>
                <td class="wrap"><bdi>${message.replace(/^Line \d+: /, '')}</bdi></td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
      ${total > faultsShown ? html`<p>And ${formatCount(total - faultsShown)} more.</p>` : nothing}
      <p>Correct the lines and upload the file again; it replaces this one.</p>
    </div>`;
  }

  private _list(): TemplateResult | typeof nothing {
    const known = datasets.value.value ?? [];
    if (known.length === 0) return nothing;
    return html`<div class="options stacked" role="radiogroup" aria-label="Uploaded datasets">
      ${known.map((entry) =>
        option(
          'dataset',
          entry.filename,
          nameText(entry.filename),
          `${formatCount(entry.num_examples)} rows, ${formatBytes(entry.size_mb * 1e6)}, ${formatAgo(entry.uploaded_at)}`,
          draft.value.dataset === entry.filename,
          () => draft.change({ dataset: entry.filename }),
        ),
      )}
    </div>`;
  }
}

function preview({ filename, rows }: Detail): TemplateResult {
  const fields = [...new Set(rows.flatMap((row) => Object.keys(row)))].slice(0, 12);
  return html`<h3>First rows of ${nameText(filename)}</h3>
    <div class="scroll-box" tabindex="0" role="region" aria-label="First rows of the dataset">
      <table class="rows preview">
        <thead>
          <tr>
            <th scope="col" class="right">#</th>
            ${fields.map((field) => html`<th scope="col"><bdi>${field}</bdi></th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            (row, index) => html`<tr>
              <td class="right">${index + 1}</td>
              ${fields.map((field) => html`<td class="wrap"><bdi>${cell(row[field])}</bdi></td>`)}
            </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
}

/** A cell's text, cut to what fits a table. */
function cell(value: unknown): string {
  const text = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
  return text.length > cellLimit
    ? `${text.slice(0, cellLimit)}… (${formatCount(text.length)} characters)`
    : text;
}
