import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { service } from '../../api/service.ts';
import type { DatasetDetail, Uploaded } from '../../api/types.ts';
import { formatAgo, formatCount, formatMegabytes } from '../../elements/format.ts';
import { nameText, option, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { choices, datasets } from '../../state/app.ts';
import { shapeFields, shapesFor } from '../../state/choice-words.ts';
import { draft } from '../../state/draft.ts';
import { datasetPath } from '../../state/router.ts';
import { Watch } from '../../state/store.ts';
import '../../views/dataset-faults.ts';
import '../../views/dataset-rows.ts';
import '../../views/dataset-upload.ts';
import '../../views/delete-dataset.ts';
import './row-view.ts';

/** Chooses an existing dataset or uploads a file, with progress and validation errors. */
@customElement('hone-dataset-picker')
export class DatasetPicker extends LitElement {
  @state() private _deleting = false;
  @state() private _detail: DatasetDetail | null = null;
  private _detailOf = '';

  constructor() {
    super();
    new Watch(this, choices, draft, datasets);
  }

  protected override createRenderRoot(): this {
    return this;
  }

  protected override willUpdate(): void {
    const { dataset, validationDataset } = draft.value;
    const { value, loading } = datasets.value;
    const isGone = (name: string) =>
      name !== '' && value !== null && !loading && !value.some(({ filename }) => filename === name);
    if (isGone(dataset)) draft.change({ dataset: '' });
    if (isGone(validationDataset) || (dataset !== '' && dataset === validationDataset)) {
      draft.change({ validationDataset: '' });
    }
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
      <hone-dataset-upload
        .shapes=${shapesFor(draft.value)}
        @uploaded=${({ detail }: CustomEvent<Uploaded>) => this._choose(detail.filename)}
      ></hone-dataset-upload>
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
          html`${formatCount(entry.num_examples)} rows, ${formatMegabytes(entry.size_mb)}, ${formatAgo(entry.uploaded_at)}${
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

  private _shown(detail: DatasetDetail): TemplateResult {
    return html`${this._warnings(detail).map((warning) => html`<p class="warning wrap"><bdi>${warning}</bdi></p>`)}
      <hone-dataset-faults .detail=${detail}></hone-dataset-faults>
      <div class="row between wrap-row">
        <h3>
          First rows of ${nameText(detail.filename)}
          ${detail.validation.valid ? nothing : html`<span class="badge" data-state="failed">invalid</span>`}
        </h3>
        <div class="actions">
          <a class="button small" href=${datasetPath(detail.filename)}>Open</a>
          <button type="button" class="small" @click=${this._askDelete}>Delete…</button>
        </div>
      </div>
      <hone-dataset-rows .rows=${detail.rows} label="First rows of the dataset"></hone-dataset-rows>
      <p class="note">Showing ${formatCount(detail.rows.length)} of ${formatCount(detail.num_examples)} rows.</p>`;
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
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-dataset-picker': DatasetPicker;
  }
}
