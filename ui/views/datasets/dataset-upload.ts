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
import { datasets, imports, router } from '../../state/app.ts';
import { shapesFields } from '../../state/choice-words.ts';
import { asServiceError } from '../../state/remote.ts';
import { datasetPath, importPath, trainingImportPath } from '../../state/router.ts';
import { Watch } from '../../state/store.ts';
import { dropped, held, uploadTag } from '../shell/drops.ts';

/** What became of one of several files. */
interface Outcome {
  readonly name: string;
  readonly words: string;
  readonly path: string | null;
  readonly isGood: boolean;
  /** Whether the training form has chosen it. */
  readonly isTaken: boolean;
}

/**
 * Uploads files that are chosen, or dropped anywhere on the page, one after the other, with progress. A file of another
 * format leads to its import; for any other it fires `uploaded` with the answer of the service. Of several files it lists
 * what became of each, and the training form takes the first valid one.
 */
@customElement(uploadTag)
export class DatasetUpload extends LightElement {
  /** The shapes that the rows may have; `null` for any. */
  @property({ attribute: false }) shapes: readonly RowShape[] | null = null;
  /** Without the accepted files, for a row of the training form, in which an import is opened. */
  @property({ type: Boolean }) compact = false;
  @state() private _uploading: { readonly name: string; readonly fraction: number } | null = null;
  @state() private _outcomes: readonly Outcome[] = [];
  /** Files that wait. */
  private _queue: File[] = [];
  @state() private _uploaded: Uploaded | null = null;
  @state() private _error: ServiceError | null = null;
  private _abort: AbortController | null = null;

  constructor() {
    super();
    new Watch(this, datasets, dropped, held);
    new KeepFocus(this);
  }

  /** Takes files that were dropped. */
  protected override updated(): void {
    const files = dropped.value;
    if (files.length === 0 || !this.isConnected) return;
    dropped.set([]);
    void this._take(files);
  }

  private async _take(files: Iterable<File>): Promise<void> {
    const chosen = [...files];
    this._queue.push(...chosen);
    this.requestUpdate();
    if (this._uploading !== null) return;
    this._outcomes = [];
    this._uploaded = null;
    const only = this._queue.length === 1 ? this._queue.shift() : undefined;
    if (only !== undefined) await this._upload(only);
    for (let file = this._queue.shift(); file !== undefined; file = this._queue.shift()) {
      const isFirst = !this._outcomes.some(({ isTaken }) => isTaken);
      this._outcomes = [...this._outcomes, await this._uploadOneOf(file, isFirst)];
    }
    if (this._outcomes.length > 0) await Promise.all([datasets.refresh(), imports.refresh()]);
  }

  /** Sends a file. @returns its import, if it is to be imported. */
  private async _send(file: File): Promise<{ uploaded: Uploaded | null; importId: string | null }> {
    this._error = null;
    this._uploading = { name: file.name, fraction: 0 };
    this._abort = new AbortController();
    const { signal } = this._abort;
    const onProgress = (fraction: number) => {
      this._uploading = { name: file.name, fraction };
    };
    try {
      if (!/\.jsonl$/i.test(file.name)) {
        const { id } = await uploadFile('POST /api/imports', file, onProgress, signal);
        return { uploaded: null, importId: id };
      }
      const uploaded = await uploadFile('POST /api/upload_dataset', file, onProgress, signal);
      await datasets.refresh();
      return { uploaded, importId: await this._importOf(uploaded.filename) };
    } finally {
      this._uploading = null;
    }
  }

  private async _upload(file: File): Promise<void> {
    try {
      const { uploaded, importId } = await this._send(file);
      if (importId !== null) router.go(this.compact ? trainingImportPath(importId) : importPath(importId));
      else if (uploaded !== null) {
        this._uploaded = uploaded;
        this.dispatchEvent(new CustomEvent('uploaded', { detail: uploaded }));
      }
    } catch (error) {
      if (!this._abort?.signal.aborted) this._error = asServiceError(error);
    }
  }

  private async _uploadOneOf(file: File, isFirst: boolean): Promise<Outcome> {
    try {
      const { uploaded, importId } = await this._send(file);
      if (importId !== null) {
        const path = this.compact ? trainingImportPath(importId) : importPath(importId);
        return { name: file.name, words: 'choose its columns', path, isGood: true, isTaken: false };
      }
      const { filename = '', num_examples = 0, validation } = uploaded ?? {};
      const isGood = validation?.valid ?? false;
      const words = isGood ? `${formatCount(num_examples)} rows, all valid` : 'has faults';
      const isTaken = this.compact && isGood && isFirst;
      if (isTaken) this.dispatchEvent(new CustomEvent('uploaded', { detail: uploaded }));
      return { name: file.name, words, path: datasetPath(filename), isGood, isTaken };
    } catch (error) {
      const words = this._abort?.signal.aborted ? 'cancelled' : asServiceError(error).message;
      return { name: file.name, words, path: null, isGood: false, isTaken: false };
    }
  }

  /** The import of a stored dataset in another tool's format, some of whose rows may look valid. */
  private async _importOf(filename: string): Promise<string | null> {
    if ((await service.dataset(filename)).convertible === null) return null;
    const { id, state } = await service.addImport({ dataset: filename });
    if (state === 'proposed') return id;
    await service.removeImport(id);
    return null;
  }

  private _cancel(): void {
    this._queue = [];
    this._abort?.abort();
  }

  protected override render(): TemplateResult {
    return html`<div
        class=${this.compact ? 'drop compact' : 'drop'}
        data-over=${held.value ? 'yes' : nothing}
      >
        ${this._uploading === null ? this._invitation() : this._progress(this._uploading)}
      </div>
      ${this._error === null ? nothing : serviceErrorPanel('Could not upload the file', this._error)}
      ${this._uploaded === null ? nothing : this._verdict(this._uploaded)}
      ${
        this._outcomes.length === 0
          ? nothing
          : html`<div role="status">
              <ul class="list" aria-label="Uploaded files">
              ${this._outcomes.map(
                ({ name, words, path, isGood }) => html`<li class="check-line">
                  <span class=${isGood ? 'good' : 'fault'}>${path === null ? nameText(name) : html`<a href=${path}>${nameText(name)}</a>`}</span>
                  <span class="muted wrap"><bdi>${words}</bdi></span>
                </li>`,
              )}
              </ul>
            </div>`
      }`;
  }

  private _invitation(): TemplateResult {
    const { shapes } = this;
    return html`<p>
        <label class="button" for="dataset-file">${this.compact ? 'Choose a file' : 'Choose files'}</label>
        <input
          id="dataset-file"
          data-next
          class="off-screen"
          type="file"
          ?multiple=${!this.compact}
          accept=".jsonl,.json,.ndjson,.csv,.tsv,.txt,.parquet,.arrow,.feather,.gz"
          @change=${(event: Event) => {
            const input = event.target as HTMLInputElement;
            void this._take(input.files ?? []);
            input.value = '';
          }}
        />
        <span class="muted">or drop ${this.compact ? 'it' : 'them'} anywhere on this page</span>
      </p>
      ${this.compact ? nothing : html`<p class="muted">${acceptedFiles(shapes)}</p>`}`;
  }

  private _progress({ name, fraction }: { name: string; fraction: number }): TemplateResult {
    const percent = Math.round(fraction * 100);
    const waiting = this._queue.length;
    return html`<p class="row between">
        ${nameText(name)}<span class="tabular">${waiting > 0 ? `${waiting} more wait, ` : ''}${percent === 100 ? 'validating…' : `${percent}%`}</span>
      </p>
      ${progressBar('Upload', fraction * 100)}
      <p><button type="button" class="small" data-next @click=${this._cancel}>Cancel</button></p>`;
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
