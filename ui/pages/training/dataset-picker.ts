import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { minimumRows } from '../../../src/contract/rows.ts';
import type { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import type { DatasetDetail, RowFault, Uploaded } from '../../api/types.ts';
import { uploadDataset } from '../../api/upload.ts';
import { formatAgo, formatBytes, formatCount } from '../../elements/format.ts';
import { nameText, option, progressBar, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { choices, datasets, toasts } from '../../state/app.ts';
import { shapeFields, shapesFields, shapesFor } from '../../state/choice-words.ts';
import { draft } from '../../state/draft.ts';
import { asServiceError } from '../../state/remote.ts';
import { Watch } from '../../state/store.ts';
import { datasetFaults } from './dataset-faults.ts';
import { datasetRows } from './dataset-rows.ts';
import './row-view.ts';

/** Chooses an existing dataset or uploads a file, with progress and validation errors. */
@customElement('hone-dataset-picker')
export class DatasetPicker extends LitElement {
  @state() private _uploading: { readonly name: string; readonly fraction: number } | null = null;
  @state() private _uploaded: Uploaded | null = null;
  @state() private _error: ServiceError | null = null;
  @state() private _over = false;
  @state() private _busy = false;
  @state() private _deleting = false;
  @state() private _detail: DatasetDetail | null = null;
  private _detailOf = '';
  private _abort: AbortController | null = null;

  constructor() {
    super();
    new Watch(this, choices, draft, datasets);
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
    if (dataset !== this._detailOf) {
      this._detailOf = dataset;
      this._detail = null;
      if (dataset !== '') void this._readDetail(dataset);
    }
  }

  private async _readDetail(name: string): Promise<void> {
    const detail = await service.dataset(name).catch(() => null);
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
      ${this._error === null ? nothing : serviceErrorPanel('Could not upload the file', this._error)}
      ${this._uploaded === null ? nothing : this._verdict(this._uploaded)}
      ${
        value === null
          ? error === null
            ? skeleton(2)
            : serviceErrorPanel('Could not load the datasets', error)
          : this._list()
      }
      ${this._detail === null ? nothing : this._shown(this._detail)} ${this._deleteDialog()}
      <hone-row-view></hone-row-view>
    `;
  }

  private _invitation(): TemplateResult {
    const shapes = shapesFor(draft.value);
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
        JSONL, at least ${minimumRows} rows.${shapes === null ? '' : ` Each line is an object with the fields ${shapesFields(shapes)}.`}
      </p>`;
  }

  private _progress({ name, fraction }: { name: string; fraction: number }): TemplateResult {
    const percent = Math.round(fraction * 100);
    return html`<p class="row between">
        ${nameText(name)}<span class="tabular">${percent === 100 ? 'validating…' : `${percent} %`}</span>
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
    return this._faults(filename, validation.details, validation.total_errors, validation.shape);
  }

  private _faults(
    filename: string,
    faults: readonly RowFault[],
    total: number,
    shape: string | null,
  ): TemplateResult {
    const convert =
      shape === null
        ? html`<p>
            <button type="button" class="small" ?disabled=${this._busy} @click=${() => this._convert(filename)}>
              Convert from Alpaca or ShareGPT
            </button>
          </p>`
        : nothing;
    return datasetFaults(filename, { faults, total, convert });
  }

  private _list(): TemplateResult | typeof nothing {
    const known = datasets.value.value ?? [];
    if (known.length === 0) return nothing;
    const wanted = shapesFor(draft.value);
    return html`<div class="options stacked" role="radiogroup" aria-label="Uploaded datasets">
      ${known.map((entry) => {
        const fits = entry.valid && (wanted === null || wanted.some((shape) => shape === entry.shape));
        return option(
          'dataset',
          entry.filename,
          html`${nameText(entry.filename)}${entry.valid ? nothing : html` <span class="badge" data-state="failed">invalid</span>`}`,
          html`${formatCount(entry.num_examples)} rows, ${formatBytes(entry.size_mb * 1e6)}, ${formatAgo(entry.uploaded_at)}${
            fits || !entry.valid || entry.shape === null
              ? nothing
              : html`<span class="mismatch">Has the fields ${shapeFields(entry.shape)}.</span>`
          }`,
          draft.value.dataset === entry.filename,
          () => draft.change({ dataset: entry.filename }),
        );
      })}
    </div>`;
  }

  /** Warnings about the dataset's size; once a model is chosen, the summary shows them instead. */
  private _warnings({ warnings }: DatasetDetail): readonly string[] {
    return draft.value.model.trim() === '' ? warnings : [];
  }

  /** The selected dataset's errors, unless its upload has just shown them, and its first rows. */
  private _shown(detail: DatasetDetail): TemplateResult {
    const { valid, errors, total_errors, shape } = detail.validation;
    const isTold = this._uploaded?.filename === detail.filename && !this._uploaded.validation.valid;
    return html`${this._warnings(detail).map((warning) => html`<p class="warning wrap"><bdi>${warning}</bdi></p>`)}
      ${valid || isTold ? nothing : this._faults(detail.filename, errors, total_errors, shape)}
      ${datasetRows(
        detail,
        html`<button type="button" class="small" @click=${this._askDelete}>Delete…</button>`,
      )}`;
  }

  private _askDelete(): void {
    this._deleting = true;
  }

  private _deleteDialog(): TemplateResult | typeof nothing {
    if (!this._deleting) return nothing;
    const content = html`<p>The file is permanently deleted. Runs keep their own copy of the rows.</p>
      <div class="row end">
        <button type="button" @click=${() => this.querySelector('dialog')?.close()}>Cancel</button>
        <button type="button" class="danger" ?disabled=${this._busy} @click=${() => this._delete()}>Delete dataset</button>
      </div>`;
    return html`<hone-dialog
      heading="Delete ${draft.value.dataset}?"
      .content=${content}
      @dismiss=${() => {
        this._deleting = false;
      }}
    ></hone-dialog>`;
  }

  private async _delete(): Promise<void> {
    if (this._busy) return;
    this._busy = true;
    try {
      toasts.show((await service.removeDataset(draft.value.dataset)).message);
      draft.change({ dataset: '' });
      this._uploaded = null;
    } catch (error) {
      this._error = asServiceError(error);
    } finally {
      this._busy = false;
      this.querySelector('dialog')?.close();
      void datasets.refresh();
    }
  }

  /** Converts the rows to a supported format. */
  private async _convert(filename: string): Promise<void> {
    if (this._busy) return;
    this._busy = true;
    try {
      const converted = await service.convertDataset(filename);
      this._uploaded = null;
      await datasets.refresh();
      draft.change({ dataset: converted.filename });
      toasts.show(`${filename} was converted to ${converted.filename}.`);
    } catch (error) {
      this._error = asServiceError(error);
    } finally {
      this._busy = false;
    }
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-dataset-picker': DatasetPicker;
  }
}
