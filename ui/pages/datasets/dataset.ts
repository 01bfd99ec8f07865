import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import type { Analysis, DatasetDetail } from '../../api/types.ts';
import { formatCount, formatMegabytes, formatMoment } from '../../elements/format.ts';
import { closeMenu, menu, menuItem } from '../../elements/menu.ts';
import { empty, figure, nameText, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { datasets, router, toasts } from '../../state/app.ts';
import { shapeFields } from '../../state/choice-words.ts';
import { draft } from '../../state/drafts/draft.ts';
import { asServiceError } from '../../state/remote.ts';
import { datasetPath } from '../../state/router.ts';
import { Watch } from '../../state/store.ts';
import { copyLink } from '../../views/copy-link.ts';
import { detectedFile, detectedName } from '../../views/datasets/import-words.ts';
import { sectionTabs } from '../../views/tabs/section-tabs.ts';
import '../../views/datasets/dataset-faults.ts';
import '../../views/datasets/delete-dataset.ts';
import '../../views/lineage/dataset-uses.ts';
import './analysis.ts';
import { linesOf } from './findings.ts';
import './rename-dialog.ts';
import './rows/row-pages.ts';
import './split-dialog.ts';
import './versions/dataset-version.ts';
import './versions/dataset-versions.ts';
import { LightElement } from '../../elements/light-element.ts';

type Dialog = 'rename' | 'split' | 'delete';

/** A dataset: its figures, errors and rows, and what can be done with it. */
@customElement('hone-dataset')
export class DatasetPage extends LightElement {
  @property() name = '';
  @state() private _detail: DatasetDetail | null = null;
  @state() private _error: ServiceError | null = null;
  @state() private _dialog: Dialog | null = null;
  /** What was found in a version of the rows. */
  @state() private _found: { readonly version: string; readonly analysis: Analysis | null } | null = null;
  private _of = '';

  constructor() {
    super();
    new Watch(this, router);
  }

  protected override willUpdate(): void {
    if (this._of === this.name) return;
    this._of = this.name;
    this._detail = null;
    this._error = null;
    void this._read();
  }

  private async _read(): Promise<void> {
    const { name } = this;
    try {
      const detail = await service.dataset(name, { rows: 1 });
      if (name !== this.name) return;
      // It was renamed.
      if (detail.filename !== name) router.go(datasetPath(detail.filename), { replace: true });
      else this._detail = detail;
    } catch (error) {
      if (name === this.name) this._error = asServiceError(error);
    }
  }

  protected override render(): TemplateResult {
    return html`<div class="page">${sectionTabs('Training', '/datasets', true)} ${this._body()}</div>`;
  }

  private _body(): TemplateResult {
    const detail = this._detail;
    if (this._error?.status === 404) {
      return html`<h1>Dataset not found</h1>
        <section class="card">
          ${empty(html`There is no dataset ${nameText(this.name)}`, html`<a href="/datasets">Show all datasets</a>`)}
        </section>`;
    }
    const { valid, shape } = detail?.validation ?? {};
    return html`<header class="page-head">
        <div>
          <h1>${nameText(this.name)}</h1>
          ${valid === false ? html`<p><span class="badge" data-state="failed">invalid</span></p>` : nothing}
        </div>
        <div class="actions">
          ${valid ? html`<button type="button" class="primary" @click=${this._train}>Train on it</button>` : nothing}
          ${valid ? html`<a class="button" href="/models/evaluations?dataset=${encodeURIComponent(this.name)}">Evaluate a model on it</a>` : nothing}
          ${
            detail === null
              ? nothing
              : html`${valid ? this._opener('split', 'Split off a validation set…') : nothing} ${this._opener('delete', 'Delete…')}
                  ${menu('More', this._more())} ${copyLink()}`
          }
        </div>
      </header>
      ${this._error === null ? nothing : serviceErrorPanel('Could not load the dataset', this._error)}
      <section class="card" aria-label="Dataset">
        ${
          detail === null
            ? this._error === null
              ? skeleton(2)
              : nothing
            : html`<dl class="figures-grid">
                ${figure('Rows', formatCount(detail.num_examples))} ${figure('Size', formatMegabytes(detail.size_mb))}
                ${figure('Fields', shape == null ? '–' : shapeFields(shape))}
                ${figure('Uploaded', formatMoment(detail.uploaded_at))}
              </dl>`
        }
        ${(detail?.warnings ?? []).map((warning) => html`<p class="warning wrap"><bdi>${warning}</bdi></p>`)}
        ${detail === null ? nothing : html`<hone-dataset-faults .detail=${detail}></hone-dataset-faults>`}
      </section>
      ${detail === null ? nothing : html`<hone-dataset-uses name=${this.name} .formerNames=${detail.former_names}></hone-dataset-uses>`}
      ${detail?.import ? importNote(detail.import) : nothing}
      ${this._rows(detail)} ${this._shownDialog(detail)}`;
  }

  private _rows(detail: DatasetDetail | null): TemplateResult | typeof nothing {
    if (detail === null) return nothing;
    const { valid, shape } = detail.validation;
    const sha256 = router.value.query.get('version');
    if (sha256 !== null)
      return html`<hone-dataset-version
        name=${this.name}
        sha256=${sha256}
        now=${detail.version}
        @changed=${() => this._changed()}
      ></hone-dataset-version>`;
    return html`${valid ? this._analysis(detail) : nothing}
            <section class="card" aria-label="Rows of the dataset">
              <hone-row-pages
                name=${this.name}
                version=${detail.version}
                .total=${detail.num_examples}
                .shape=${shape}
                .only=${this._only(detail)}
                @changed=${() => this._changed()}
              ></hone-row-pages>
            </section>
            <hone-dataset-versions name=${this.name} version=${detail.version}></hone-dataset-versions>`;
  }

  private _changed(): void {
    void this._read();
    void datasets.refresh();
  }

  /** The lines that the address asks for; `null` for all, `undefined` while they are not known. */
  private _only({ version, validation }: DatasetDetail): readonly number[] | null | undefined {
    const finding = router.value.query.get('finding');
    if (finding === null || !validation.valid) return null;
    if (this._found?.version !== version) return undefined;
    const lines = this._found.analysis === null ? [] : linesOf(finding, this._found.analysis);
    return lines.length === 0 ? null : lines;
  }

  private _analysis({ version, validation, size_mb: sizeMb }: DatasetDetail): TemplateResult {
    return html`<section class="card" aria-labelledby="analysis-heading">
      <h2 id="analysis-heading">Analysis</h2>
      <hone-dataset-findings
        name=${this.name}
        version=${version}
        .sizeMb=${sizeMb}
        @found=${({ detail: analysis }: CustomEvent<Analysis | null>) => {
          this._found = { version, analysis };
        }}
        @changed=${() => this._changed()}
      ></hone-dataset-findings>
      <details class="fold bare">
        <summary>Lengths and overlap</summary>
        <hone-dataset-analysis name=${this.name} .shape=${validation.shape}></hone-dataset-analysis>
      </details>
    </section>`;
  }

  private _more(): TemplateResult {
    const rename = () => {
      this._dialog = 'rename';
    };
    return html`<div class="menu-body">
      ${menuItem('Rename…', rename)} ${menuItem('Duplicate', () => void this._duplicate())}
      <a class="button tool" href=${service.datasetFilePath(this.name)} download=${this.name} @click=${closeMenu}>Download</a>
    </div>`;
  }

  private async _duplicate(): Promise<void> {
    try {
      const { filename } = await service.copyDataset(this.name);
      await datasets.refresh();
      toasts.show(`${filename} is a copy of ${this.name}.`);
      router.go(datasetPath(filename));
    } catch (error) {
      toasts.show(asServiceError(error).message, 'error');
    }
  }

  private _opener(dialog: Dialog, label: string): TemplateResult {
    return html`<button
      type="button"
      @click=${() => {
        this._dialog = dialog;
      }}
    >
      ${label}
    </button>`;
  }

  private _shownDialog(detail: DatasetDetail | null): TemplateResult | typeof nothing {
    const close = () => {
      this._dialog = null;
    };
    if (this._dialog === 'delete') {
      return html`<hone-delete-dataset
        name=${this.name}
        @deleted=${() => router.go('/datasets', { replace: true })}
        @dismiss=${close}
      ></hone-delete-dataset>`;
    }
    if (this._dialog === 'rename') {
      return html`<hone-rename-dialog
        name=${this.name}
        @renamed=${({ detail: name }: CustomEvent<string>) => router.go(datasetPath(name), { replace: true })}
        @dismiss=${close}
      ></hone-rename-dialog>`;
    }
    if (this._dialog !== 'split' || detail === null) return nothing;
    return html`<hone-split-dialog
      name=${this.name}
      .total=${detail.num_examples}
      @split=${({ detail: name }: CustomEvent<string>) => router.go(datasetPath(name))}
      @dismiss=${close}
    ></hone-split-dialog>`;
  }

  private _train(): void {
    draft.change({ dataset: this.name });
    void datasets.refresh();
    router.go('/training');
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-dataset': DatasetPage;
  }
}

/** What the import did that made a dataset. */
function importNote(note: NonNullable<DatasetDetail['import']>): TemplateResult {
  const { columns = {}, templates = {}, system, metadata = [] } = note.mapping ?? {};
  const parts = [
    ...Object.entries({ ...columns, ...templates }),
    ...(system === undefined ? [] : [['system', system] as const]),
    ...metadata.map((column) => ['metadata', column] as const),
  ];
  return html`<section class="card" aria-labelledby="import-note">
    <h2 id="import-note">Imported</h2>
    <p class="wrap">
      From ${nameText(note.source.name)}, ${formatMoment(note.imported_at)}.
      ${detectedFile(note.container, note.compression, note.source.size_bytes)}
      ${detectedName(note.shape) === null ? nothing : `Detected: ${detectedName(note.shape)}.`}
      ${formatCount(note.rows_read)} rows read, ${formatCount(note.rows_written)} written, ${formatCount(note.rows_skipped)} left out.
    </p>
    ${
      parts.length === 0
        ? nothing
        : html`<ul class="wrap">
            ${parts.map(([field, from]) => html`<li><code>${field}</code> from <bdi><code>${from}</code></bdi></li>`)}
          </ul>`
    }
  </section>`;
}
