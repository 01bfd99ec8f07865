import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { service } from '../../../api/service.ts';
import type { DocumentRecord } from '../../../api/types.ts';
import { uploadFile } from '../../../api/upload.ts';
import { keyedRow } from '../../../elements/child.ts';
import { formatBytes, formatCount } from '../../../elements/format.ts';
import { LightElement } from '../../../elements/light-element.ts';
import { nameText, progressBar, serviceErrorPanel, skeleton } from '../../../elements/parts.ts';
import { Action } from '../../../state/action.ts';
import { toasts } from '../../../state/app.ts';
import { asServiceError, Reread } from '../../../state/remote.ts';
import { Watch } from '../../../state/store.ts';
import { documentsTag, dropped } from '../../../views/shell/drops.ts';
import { documents } from './known.ts';

const accepted = '.pdf,.docx,.html,.htm,.md,.markdown,.txt,.text';

/** The documents, to which files are added that are chosen, or dropped anywhere on the page, one after the other. */
@customElement(documentsTag)
export class DocumentList extends LightElement {
  @state() private _sending: { readonly name: string; readonly fraction: number } | null = null;
  /** Why files were not added. */
  @state() private _faults: readonly string[] = [];
  private _queue: File[] = [];
  private readonly _action = new Action(this);
  private _abort = new AbortController();

  constructor() {
    super();
    new Reread(this, documents);
    new Watch(this, dropped);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this._abort = new AbortController();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._queue = [];
    this._abort.abort();
  }

  /** Takes files that were dropped. */
  protected override updated(): void {
    const files = dropped.value;
    if (files.length === 0 || !this.isConnected) return;
    dropped.set([]);
    void this._take(files);
  }

  private async _take(files: Iterable<File>): Promise<void> {
    this._queue.push(...files);
    if (this._sending !== null) return;
    this._faults = [];
    const { signal } = this._abort;
    for (let file = this._queue.shift(); file !== undefined; file = this._queue.shift()) {
      const { name } = file;
      this._sending = { name, fraction: 0 };
      const onProgress = (fraction: number) => {
        this._sending = { name, fraction };
      };
      try {
        await uploadFile('POST /api/documents', file, onProgress, signal);
      } catch (error) {
        if (!signal.aborted) this._faults = [...this._faults, asServiceError(error).message];
      }
      await documents.refresh();
    }
    this._sending = null;
  }

  private async _remove({ id, name }: DocumentRecord): Promise<void> {
    await this._action.run(async () => {
      await service.removeDocument(id);
      toasts.show(`${name} was deleted`);
      await documents.refresh();
    });
  }

  protected override render(): TemplateResult {
    const { error } = this._action;
    return html`<section class="card" aria-labelledby="documents">
      <h2 id="documents">Documents</h2>
      <p class="muted">PDF, Word (.docx), HTML, Markdown or text. Their text is kept, page by page; the files are not.</p>
      <p>
        <label class="button" for="document-files">Add documents</label>
        <input
          id="document-files"
          class="off-screen"
          type="file"
          multiple
          accept=${accepted}
          @change=${(event: Event) => {
            const input = event.target as HTMLInputElement;
            void this._take([...(input.files ?? [])]);
            input.value = '';
          }}
        />
        <span class="muted">or drop them anywhere on this page</span>
      </p>
      ${this._progress()}
      ${this._faults.map((fault) => html`<p class="fault" role="status">${fault}</p>`)}
      ${error === null ? nothing : serviceErrorPanel('Could not delete the document', error)} ${this._list()}
    </section>`;
  }

  private _progress(): TemplateResult | typeof nothing {
    const sending = this._sending;
    if (sending === null) return nothing;
    const { name, fraction } = sending;
    return html`<p role="status">${fraction < 1 ? 'Sending' : 'Reading'} ${nameText(name)}…</p>
      ${progressBar(`Adding ${name}`, fraction < 1 ? fraction * 100 : null)}`;
  }

  private _list(): TemplateResult {
    const { value, error } = documents.value;
    if (value === null)
      return error === null ? skeleton(3) : serviceErrorPanel('Could not load the documents', error);
    if (value.length === 0) return html`<p>There are no documents.</p>`;
    return html`<div class="scroll-box" tabindex="0" role="region" aria-label="Table of documents">
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" class="right">Pages</th>
            <th scope="col" class="right spare">Characters</th>
            <th scope="col" class="right spare">Size</th>
            <th scope="col"><span class="off-screen">Delete</span></th>
          </tr>
        </thead>
        <tbody>
          ${keyedRow(
            value,
            ({ id }) => id,
            (document) => this._row(document),
          )}
        </tbody>
      </table>
    </div>`;
  }

  private _row(document: DocumentRecord): TemplateResult {
    const { name, pages, pages_without_text: bare, characters, size_bytes: bytes } = document;
    return html`<tr>
      <th scope="row" class="named">${nameText(name)}
        ${bare === 0 ? nothing : html`<small class="muted">${formatCount(bare)} ${bare === 1 ? 'page' : 'pages'} without text</small>`}
      </th>
      <td class="right">${formatCount(pages)}</td>
      <td class="right spare">${formatCount(characters)}</td>
      <td class="right spare">${formatBytes(bytes)}</td>
      <td class="right">
        <button
          type="button"
          class="small danger"
          ?disabled=${this._action.busy}
          aria-label="Delete ${name}"
          @click=${() => this._remove(document)}
        >
          Delete
        </button>
      </td>
    </tr>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    [documentsTag]: DocumentList;
  }
}
