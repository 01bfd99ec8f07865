import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { minimumRows, type RowShape } from '../../../src/contract/rows.ts';
import type { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import type { Uploaded } from '../../api/types.ts';
import { uploadFile } from '../../api/upload.ts';
import { formatCount } from '../../elements/format.ts';
import { KeepFocus } from '../../elements/keep-focus.ts';
import { LightElement } from '../../elements/light-element.ts';
import { nameText, progressBar, serviceErrorPanel } from '../../elements/parts.ts';
import { datasets, router } from '../../state/app.ts';
import { shapesFields } from '../../state/choice-words.ts';
import { asServiceError } from '../../state/remote.ts';
import { importPath } from '../../state/router.ts';
import { Watch } from '../../state/store.ts';

/**
 * Uploads a file that is chosen or dropped, with progress. A file of another format leads to the page of its import; for
 * any other it fires `uploaded` with the answer of the service.
 */
@customElement('hone-dataset-upload')
export class DatasetUpload extends LightElement {
  /** The shapes that the rows may have; `null` for any. */
  @property({ attribute: false }) shapes: readonly RowShape[] | null = null;
  /** Without the accepted files, for a row of a form. */
  @property({ type: Boolean }) compact = false;
  @state() private _uploading: { readonly name: string; readonly fraction: number } | null = null;
  @state() private _uploaded: Uploaded | null = null;
  @state() private _error: ServiceError | null = null;
  @state() private _over = false;
  private _abort: AbortController | null = null;

  constructor() {
    super();
    new Watch(this, datasets);
    new KeepFocus(this);
  }

  private async _upload(file: File | undefined): Promise<void> {
    if (file === undefined || this._uploading !== null) return;
    this._error = null;
    this._uploaded = null;
    this._uploading = { name: file.name, fraction: 0 };
    this._abort = new AbortController();
    const { signal } = this._abort;
    const onProgress = (fraction: number) => {
      this._uploading = { name: file.name, fraction };
    };
    try {
      if (!/\.jsonl$/i.test(file.name)) {
        router.go(importPath((await uploadFile('POST /api/imports', file, onProgress, signal)).id));
        return;
      }
      const uploaded = await uploadFile('POST /api/upload_dataset', file, onProgress, signal);
      await datasets.refresh();
      if (await this._isImported(uploaded.filename)) return;
      this._uploaded = uploaded;
      this.dispatchEvent(new CustomEvent('uploaded', { detail: uploaded }));
    } catch (error) {
      if (!signal.aborted) this._error = asServiceError(error);
    } finally {
      this._uploading = null;
    }
  }

  /**
   * Leads to the import of a stored dataset in another tool's format, some of whose rows may look valid.
   * @returns whether it does.
   */
  private async _isImported(filename: string): Promise<boolean> {
    if ((await service.dataset(filename)).convertible === null) return false;
    const { id, state } = await service.addImport({ dataset: filename });
    if (state === 'proposed') router.go(importPath(id));
    else await service.removeImport(id);
    return state === 'proposed';
  }

  private _dropped(event: DragEvent): void {
    event.preventDefault();
    this._over = false;
    void this._upload(event.dataTransfer?.files[0]);
  }

  protected override render(): TemplateResult {
    return html`<div
        class=${this.compact ? 'drop compact' : 'drop'}
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
      ${this._uploaded === null ? nothing : this._verdict(this._uploaded)}`;
  }

  private _invitation(): TemplateResult {
    const { shapes } = this;
    return html`<p>
        <label class="button" for="dataset-file">Choose a file</label>
        <input
          id="dataset-file"
          data-next
          class="off-screen"
          type="file"
          accept=".jsonl,.json,.ndjson,.csv,.tsv,.txt,.parquet,.arrow,.feather,.gz"
          @change=${(event: Event) => {
            const input = event.target as HTMLInputElement;
            void this._upload(input.files?.[0]);
            input.value = '';
          }}
        />
        <span class="muted">or drop it here</span>
      </p>
      ${this.compact ? nothing : html`<p class="muted">${acceptedFiles(shapes)}</p>`}`;
  }

  private _progress({ name, fraction }: { name: string; fraction: number }): TemplateResult {
    const percent = Math.round(fraction * 100);
    return html`<p class="row between">
        ${nameText(name)}<span class="tabular">${percent === 100 ? 'validating…' : `${percent}%`}</span>
      </p>
      ${progressBar('Upload', fraction * 100)}
      <p><button type="button" class="small" data-next @click=${() => this._abort?.abort()}>Cancel</button></p>`;
  }

  /** Only of a valid file: who shows the dataset tells its errors. */
  private _verdict({ filename, num_examples, validation }: Uploaded): TemplateResult | typeof nothing {
    const isKept = datasets.value.value?.some((dataset) => dataset.filename === filename) ?? false;
    if (!validation.valid || !isKept) return nothing;
    return html`<p class="check-line" role="status">
      <span class="good">✓ ${nameText(filename)}</span>
      <span class="muted">${formatCount(num_examples)} rows, all valid</span>
    </p>`;
  }
}

/** The files that an upload takes, in a sentence. @param shapes the shapes that the rows may have; `null` for any. */
export function acceptedFiles(shapes: readonly RowShape[] | null): string {
  const formats = `JSONL, JSON, CSV, TSV, Parquet or Arrow, also compressed with gzip; at least ${minimumRows} rows.`;
  if (shapes === null) return formats;
  return `${formats} JSONL with the fields ${shapesFields(shapes)} is taken as it is, anything else is imported.`;
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-dataset-upload': DatasetUpload;
  }
}
