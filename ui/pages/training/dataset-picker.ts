import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { service } from '../../api/service.ts';
import type { Dataset, DatasetDetail, Uploaded } from '../../api/types.ts';
import '../../elements/dialog.ts';
import { formatAgo, formatCount, formatMegabytes } from '../../elements/format.ts';
import { nameText, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { fitDataset } from '../../settings/fit-task.ts';
import { choices, datasets, router } from '../../state/app.ts';
import { shapeFields, shapesFor } from '../../state/choice-words.ts';
import { draft } from '../../state/drafts/draft.ts';
import { datasetPath } from '../../state/router.ts';
import { Watch } from '../../state/store.ts';
import '../../views/datasets/dataset-faults.ts';
import '../../views/datasets/dataset-rows.ts';
import { acceptedFiles } from '../../views/datasets/dataset-upload.ts';
import '../../views/datasets/delete-dataset.ts';
import '../../views/datasets/import-view.ts';
import './row-view.ts';
import { LightElement } from '../../elements/light-element.ts';

/** Chooses an existing dataset, or uploads or imports a file, with progress and validation errors. */
@customElement('hone-dataset-picker')
export class DatasetPicker extends LightElement {
  @state() private _deleting = false;
  @state() private _detail: DatasetDetail | null = null;
  private _detailOf = '';
  /** Whether the first rows are shown: also those of the dataset that is chosen next. */
  private _isOpen = false;

  constructor() {
    super();
    new Watch(this, choices, draft, datasets, router);
  }

  protected override willUpdate(): void {
    const { dataset, validationDataset } = draft.value;
    const { value, loading } = datasets.value;
    const isGone = (name: string) =>
      name !== '' && value !== null && !loading && !value.some(({ filename }) => filename === name);
    // Another file may get its name.
    if (isGone(dataset)) draft.change({ dataset: '', fittedTo: '' });
    if (isGone(validationDataset) || (dataset !== '' && dataset === validationDataset)) {
      draft.change({ validationDataset: '' });
    }
    fitDataset();
    if (dataset !== this._detailOf) {
      this._detailOf = dataset;
      this._detail = null;
      if (dataset !== '') void this._readDetail(dataset);
    }
  }

  /** Chooses a dataset, and reads it again if it was replaced. */
  private _choose(name: string): void {
    this._detailOf = '';
    draft.change({ dataset: name });
    this.requestUpdate();
  }

  private async _readDetail(name: string): Promise<void> {
    const detail = await service.dataset(name).catch(() => null);
    if (draft.value.dataset === name) this._detail = detail;
  }

  protected override render(): TemplateResult {
    const { value, error } = datasets.value;
    return html`
      <div class="form-row">
        <label for="dataset">Dataset</label>
        <div class="form-row-fields">
          ${value === null && error === null ? skeleton(1) : this._list()}
          <hone-dataset-upload
            compact
            .shapes=${shapesFor(draft.value)}
            @uploaded=${({ detail }: CustomEvent<Uploaded>) => this._choose(detail.filename)}
          ></hone-dataset-upload>
        </div>
        ${draft.value.dataset === '' ? html`<p class="hint check-line">${acceptedFiles(shapesFor(draft.value))}</p>` : nothing}
      </div>
      ${value === null && error !== null ? serviceErrorPanel('Could not load the datasets', error) : nothing}
      ${this._detail === null ? nothing : this._shown(this._detail)} ${this._deleteDialog()} ${this._importDialog()}
    `;
  }

  private _list(): TemplateResult {
    const { dataset } = draft.value;
    return html`<select
      id="dataset"
      @change=${(event: Event) => draft.change({ dataset: (event.target as HTMLSelectElement).value })}
    >
      <option value="" .selected=${dataset === ''}>Choose one, or upload a file</option>
      ${(datasets.value.value ?? []).map(
        (entry) =>
          html`<option value=${entry.filename} .selected=${dataset === entry.filename}>${datasetWords(entry)}</option>`,
      )}
    </select>`;
  }

  /** Warnings about the dataset's size; once a model is chosen, the summary shows them instead. */
  private _warnings({ warnings }: DatasetDetail): readonly string[] {
    return draft.value.model.trim() === '' ? warnings : [];
  }

  private _shown(detail: DatasetDetail): TemplateResult {
    return html`${this._warnings(detail).map((warning) => html`<p class="warning wrap"><bdi>${warning}</bdi></p>`)}
      <hone-dataset-faults .detail=${detail}></hone-dataset-faults>
      <div class="folds">
        <details
          class="fold"
          ?open=${this._isOpen}
          @toggle=${(event: Event) => {
            this._isOpen = (event.target as HTMLDetailsElement).open;
          }}
        >
          <summary>
            <span>First rows of ${nameText(detail.filename)}</span>
            ${detail.validation.valid ? nothing : html`<span class="badge" data-state="failed">invalid</span>`}
          </summary>
          <div class="actions">
            <a class="button small" href=${datasetPath(detail.filename)}>Open</a>
            <button type="button" class="small" @click=${this._askDelete}>Delete…</button>
          </div>
          <hone-dataset-rows .rows=${detail.rows} label="First rows of the dataset"></hone-dataset-rows>
          <p class="note">Showing ${formatCount(detail.rows.length)} of ${formatCount(detail.num_examples)} rows.</p>
        </details>
        <hone-row-view></hone-row-view>
      </div>`;
  }

  private _askDelete(): void {
    this._deleting = true;
  }

  private _deleteDialog(): TemplateResult | typeof nothing {
    if (!this._deleting) return nothing;
    return html`<hone-delete-dataset
      name=${draft.value.dataset}
      @deleted=${() => draft.change({ dataset: '' })}
      @dismiss=${() => {
        this._deleting = false;
      }}
    ></hone-delete-dataset>`;
  }

  /** The import of a file that is no JSONL of rows, which the address has. */
  private _importDialog(): TemplateResult | typeof nothing {
    const id = router.value.query.get('import');
    if (id === null) return nothing;
    const close = () => this.querySelector('dialog')?.close();
    const content = html`<hone-import-view
      embedded
      .importId=${id}
      @chosen=${({ detail }: CustomEvent<string>) => {
        this._choose(detail);
        close();
      }}
      @removed=${close}
    ></hone-import-view>`;
    return html`<hone-dialog
      class="wide"
      heading="Import a dataset"
      .content=${content}
      @dismiss=${() => router.go('/training', { replace: true })}
    ></hone-dialog>`;
  }
}

/** A dataset with its size, its age, and why it cannot be used. */
function datasetWords({ filename, num_examples, size_mb, uploaded_at, valid, shape }: Dataset): string {
  const wanted = shapesFor(draft.value);
  const fits = shape === null || wanted === null || wanted.some((one) => one === shape);
  const problem = !valid ? ' (invalid)' : fits ? '' : ` (has the fields ${shapeFields(shape)})`;
  const facts = [`${formatCount(num_examples)} rows`, formatMegabytes(size_mb), formatAgo(uploaded_at)];
  return `${filename} · ${facts.join(', ')}${problem}`;
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-dataset-picker': DatasetPicker;
  }
}
