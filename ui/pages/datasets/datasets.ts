import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import type { Dataset, Uploaded } from '../../api/types.ts';
import { keyedRow } from '../../elements/child.ts';
import { formatCount, formatMegabytes, formatMoment } from '../../elements/format.ts';
import { empty, nameText, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { datasets, router } from '../../state/app.ts';
import { shapeFields } from '../../state/choice-words.ts';
import { Reread } from '../../state/remote.ts';
import { datasetPath } from '../../state/router.ts';
import { Watch } from '../../state/store.ts';
import { ListOrder } from '../../views/lists/list-order.ts';
import { sectionTabs } from '../../views/tabs/section-tabs.ts';
import '../../views/datasets/dataset-upload.ts';
import '../../views/datasets/delete-dataset.ts';
import './hub-form.ts';
import './open-imports.ts';
import { LightElement } from '../../elements/light-element.ts';

/** What the list of datasets can be ordered by. */
const orders = {
  name: ({ filename }: Dataset) => filename.toLowerCase(),
  rows: ({ num_examples }: Dataset) => num_examples,
  fields: ({ shape }: Dataset) => (shape === null ? null : shapeFields(shape)),
  size: ({ size_mb }: Dataset) => size_mb,
  uploaded: ({ uploaded_at }: Dataset) => uploaded_at,
} as const;

/** All datasets, in the order that the URL holds, and the ways to add one. */
@customElement('hone-datasets')
export class DatasetList extends LightElement {
  @state() private _deleting: string | null = null;

  private readonly _order = new ListOrder(Object.keys(orders), { key: 'uploaded', down: true });

  constructor() {
    super();
    new Reread(this, datasets);
    new Watch(this, router);
  }

  protected override render(): TemplateResult {
    return html`<div class="page">
      ${sectionTabs('Training', '/datasets')}
      <header class="page-head"><h1>Datasets</h1></header>
      <section class="card" aria-labelledby="add-dataset">
        <h2 id="add-dataset">Add a dataset</h2>
        <hone-dataset-upload
          @uploaded=${({ detail }: CustomEvent<Uploaded>) => {
            if (!detail.validation.valid) router.go(datasetPath(detail.filename));
          }}
        ></hone-dataset-upload>
        <hone-hub-form></hone-hub-form>
        <p class="note">
          PDF, Word, HTML or text files? <a href="/datasets/documents">Make a dataset from documents</a>
        </p>
        <p class="note">
          Fine-tuned at OpenAI before? <a href="/datasets/openai">Import your jobs and files from OpenAI</a>
        </p>
      </section>
      <hone-open-imports></hone-open-imports>
      <section class="card" aria-label="Datasets">${this._body()}</section>
      ${
        this._deleting === null
          ? nothing
          : html`<hone-delete-dataset
              name=${this._deleting}
              @dismiss=${() => {
                this._deleting = null;
              }}
            ></hone-delete-dataset>`
      }
    </div>`;
  }

  private _body(): TemplateResult {
    const { value, error } = datasets.value;
    if (value === null) {
      return error === null ? skeleton(6) : serviceErrorPanel('Could not load the datasets', error);
    }
    const order = this._order;
    if (value.length === 0)
      return empty('No datasets yet', 'Choose files above, or drop them anywhere on this page.');
    return html`<div class="scroll-box" tabindex="0" role="region" aria-label="Table of datasets">
      <table class="rows">
        <thead>
          <tr>
            ${order.heading('name', 'Name')} ${order.heading('rows', 'Rows', 'right')}
            ${order.heading('fields', 'Fields', 'spare-narrow')} ${order.heading('size', 'Size', 'right spare')}
            ${order.heading('uploaded', 'Uploaded', 'right spare')}
            <th scope="col"><span class="off-screen">Delete</span></th>
          </tr>
        </thead>
        <tbody>
          ${keyedRow(
            order.sort(value, (dataset, key) => orders[key as keyof typeof orders](dataset)),
            ({ filename }) => filename,
            (dataset) => this._row(dataset),
          )}
        </tbody>
      </table>
    </div>`;
  }

  private _row({
    filename,
    num_examples,
    size_mb,
    uploaded_at,
    valid,
    shape,
    findings,
  }: Dataset): TemplateResult {
    return html`<tr>
      <th scope="row" class="named"><a href=${datasetPath(filename)}>${nameText(filename)}</a>
        ${valid ? nothing : html`<span class="badge" data-state="failed">invalid</span>`}
        ${findings === null || findings === 0 ? nothing : html`<small class="muted">${formatCount(findings)} ${findings === 1 ? 'finding' : 'findings'}</small>`}
      </th>
      <td class="right">${formatCount(num_examples)}</td>
      <td class="wrap spare-narrow">${shape === null ? nothing : shapeFields(shape)}</td>
      <td class="right spare">${formatMegabytes(size_mb)}</td>
      <td class="right spare">${formatMoment(uploaded_at)}</td>
      <td class="right">
        <button
          type="button"
          class="small"
          aria-label="Delete ${filename}…"
          @click=${() => {
            this._deleting = filename;
          }}
        >
          Delete…
        </button>
      </td>
    </tr>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-datasets': DatasetList;
  }
}
