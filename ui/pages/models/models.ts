import { html, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { service } from '../../api/service.ts';
import type { Facets, Model } from '../../api/types.ts';
import { empty, nameText, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { choices, models, router } from '../../state/app.ts';
import { Remote } from '../../state/remote.ts';
import { Watch } from '../../state/store.ts';
import { ChosenEntries } from '../../views/lists/chosen-entries.ts';
import { ListOrder } from '../../views/lists/list-order.ts';
import { listTable } from '../../views/lists/list-table.ts';
import { ChosenColumns, facetOptions, filterSelect, listTools } from '../../views/lists/list-tools.ts';
import { MoreRows } from '../../views/lists/more-rows.ts';
import { compareButton } from '../../views/runs/compare-button.ts';
import { sectionTabs } from '../../views/tabs/section-tabs.ts';
import { modelColumns } from './model-columns.ts';
import '../../views/lists/bulk-bar.ts';
import { LightElement } from '../../elements/light-element.ts';

const pageRows = 50;

/** What a model is found by. */
const wordsOf = ({ name, display_name, notes, tags, base_model, dataset, task, strategy }: Model) =>
  `${display_name} ${name} ${tags.join(' ')} ${base_model} ${dataset} ${task} ${strategy} ${notes}`.toLowerCase();

/** What a model is ordered by, by the key of a column or by its name. */
const orderedBy = (model: Model, key: string) =>
  key === 'name'
    ? model.display_name.toLowerCase()
    : (modelColumns.find((column) => column.key === key)?.by(model) ?? null);

/** All models, with search, filters and order, which the URL holds; several can be chosen. */
@customElement('hone-models')
export class ModelList extends LightElement {
  @state() private _limit = pageRows;
  private readonly _chosen = new ChosenEntries<Model>(this, ({ model_id }) => model_id);
  private readonly _facets = new Remote<Facets>(service.modelFacets);
  private readonly _columns = new ChosenColumns('model-columns', modelColumns);
  private readonly _order = new ListOrder(
    ['name', ...modelColumns.map(({ key }) => key)],
    { key: 'created', down: true },
    () => {
      this._limit = pageRows;
    },
  );
  private readonly _more = new MoreRows(this, () => {
    this._limit += pageRows;
  });
  private _found: readonly Model[] = [];
  private _foundOf: readonly unknown[] = [];
  private _unfollow: (() => void) | null = null;

  constructor() {
    super();
    new Watch(this, choices, models, router, this._facets);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this._unfollow = models.subscribe(() => {
      if (!models.value.loading) void this._facets.refresh();
    });
    if (models.value.value !== null) void this._facets.refresh();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._unfollow?.();
  }

  private _asked(name: string): string {
    return router.value.query.get(name) ?? '';
  }

  /** Changes one part of the search in the URL. */
  private _go(
    name: string,
    value: string,
    how: { typed: true } | { replace: true } = { replace: true },
  ): void {
    const query = new URLSearchParams(router.value.query);
    if (value === '') query.delete(name);
    else query.set(name, value);
    const text = query.toString();
    router.go(`/models${text === '' ? '' : `?${text}`}`, how);
    this._limit = pageRows;
  }

  protected override willUpdate(): void {
    this._chosen.renew(models.value.value ?? []);
  }

  protected override render(): TemplateResult {
    const { value, error } = models.value;
    return html`<div class="page">
      ${sectionTabs('Models', '/models')}
      <h1>Models</h1>
      ${
        value === null
          ? html`<section class="card tall">
              ${error === null ? skeleton(8) : serviceErrorPanel('Could not load the models', error)}
            </section>`
          : value.length === 0
            ? html`<section class="card">
                ${empty('No models yet', html`Models appear here when a <a href="/training">training</a> is complete.`)}
              </section>`
            : this._list(value)
      }
    </div>`;
  }

  /** The models of the search and the filters, in their order: found anew only if one of these has changed. */
  private _find(all: readonly Model[]): readonly Model[] {
    const of = [all, router.value.query];
    if (of.some((one, index) => one !== this._foundOf[index])) {
      this._found = this._search(all);
      this._foundOf = of;
    }
    return this._found;
  }

  private _search(all: readonly Model[]): Model[] {
    const words = this._asked('q').toLowerCase().split(/\s+/).filter(Boolean);
    const [base, dataset, task, tag] = ['model', 'dataset', 'task', 'tag'].map((name) => this._asked(name));
    const isFound = (model: Model) =>
      (base === '' || model.base_model === base) &&
      (dataset === '' || model.dataset === dataset) &&
      (task === '' || model.task === task) &&
      (tag === '' || model.tags.some((one) => one === tag)) &&
      words.every((word) => wordsOf(model).includes(word));
    return this._order.sort(all.filter(isFound), orderedBy);
  }

  private _list(all: readonly Model[]): TemplateResult {
    const found = this._find(all);
    const shown = found.slice(0, this._limit);
    const facets = this._facets.value.value;
    const tasks = (choices.value.value?.tasks ?? []).map(({ name, label }) => ({ value: name, name: label }));
    const filter = (label: string, name: string, options: Parameters<typeof filterSelect>[1]) =>
      filterSelect(label, options, this._asked(name), (value) => this._go(name, value));
    return html`<section class="card" aria-label="Models">
      ${listTools({
        of: 'models',
        words: this._asked('q'),
        search: (words) => this._go('q', words, { typed: true }),
        filters: [
          filter('task', 'task', tasks),
          filter('base model', 'model', facetOptions(facets?.models)),
          filter('dataset', 'dataset', facetOptions(facets?.datasets)),
          filter('tag', 'tag', facetOptions(facets?.tags)),
        ],
        columns: this._columns.menu(() => this.requestUpdate()),
        shown: found.length,
        total: all.length,
      })}
      ${this._bulk()}
      ${listTable({
        noun: 'model',
        entries: shown,
        columns: this._columns,
        boxOf: ({ name }) => name,
        nameOf: ({ model_id, display_name, name }) =>
          html`<a href="/models/${model_id}">${nameText(display_name)}</a>
            ${display_name === name ? '' : html`<small class="muted">${nameText(name)}</small>`}`,
        chosen: this._chosen,
        order: this._order,
      })}
      ${found.length === 0 ? empty('No matching models', 'Try a shorter search, or fewer filters.') : ''}
      ${this._more.end(shown.length < found.length)}
    </section>`;
  }

  private _bulk(): TemplateResult {
    const chosen = this._chosen.entries;
    const jobIds = chosen.flatMap(({ job_id }) => job_id ?? []);
    const problem = jobIds.length < chosen.length ? 'The run of one of them was deleted' : null;
    return html`<hone-bulk-bar
      noun="model"
      consequence="They are kept in the bin for seven days: the GGUF files, the adapters and the Modelfiles. Their runs are kept."
      .chosen=${chosen.map(({ model_id, display_name, name, tags }) => ({ id: model_id, name: `${display_name} (${name})`, tags }))}
      .removeOne=${service.removeModel}
      .tagOne=${(id: string, tags: string[]) => service.identifyModel(id, { tags })}
      .more=${compareButton(jobIds, problem)}
      @cleared=${() => {
        this._chosen.keep([]);
      }}
      @acted=${({ detail }: CustomEvent<readonly string[]>) => {
        this._chosen.keep(detail);
        void models.refresh();
      }}
    ></hone-bulk-bar>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-models': ModelList;
  }
}
