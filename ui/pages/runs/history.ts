import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { jobStates, runOrders } from '../../../src/contract/jobs.ts';
import { service } from '../../api/service.ts';
import type { Facets, Job } from '../../api/types.ts';
import { empty, nameText, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { choices, jobs, router } from '../../state/app.ts';
import { sweepPath } from '../../state/router.ts';
import { stateName } from '../../state/runs/job-words.ts';
import { type RunFilter, RunSearch } from '../../state/runs/run-search.ts';
import { Watch } from '../../state/store.ts';
import { ChosenEntries } from '../../views/lists/chosen-entries.ts';
import { ListOrder } from '../../views/lists/list-order.ts';
import { listTable } from '../../views/lists/list-table.ts';
import { ChosenColumns, facetOptions, filterSelect, listTools } from '../../views/lists/list-tools.ts';
import { MoreRows } from '../../views/lists/more-rows.ts';
import { compareButton } from '../../views/runs/compare-button.ts';
import { sectionTabs } from '../../views/tabs/section-tabs.ts';
import { runColumns } from './run-columns.ts';
import '../../views/lists/bulk-bar.ts';
import { LightElement } from '../../elements/light-element.ts';

const stateOptions = jobStates.map((value) => ({ value, name: stateName(value) }));

/** All runs, found and ordered by the service. The URL holds the search and the order; several can be chosen. */
@customElement('hone-history')
export class History extends LightElement {
  @state() private _facets: Facets | null = null;
  private readonly _chosen = new ChosenEntries<Job>(this, ({ job_id }) => job_id);
  private readonly _search = new RunSearch(jobs);
  private readonly _columns = new ChosenColumns('run-columns', runColumns);
  private readonly _order = new ListOrder(runOrders, { key: 'created', down: true });
  private readonly _more = new MoreRows(this, () => this._search.more());
  private _unfollow: (() => void) | null = null;

  constructor() {
    super();
    new Watch(this, router, choices, this._search);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    // The shared list of the newest runs is read again whenever one has changed.
    this._unfollow = jobs.subscribe(() => {
      if (!jobs.value.loading) this._changed();
    });
    if (jobs.value.value !== null) this._changed();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._unfollow?.();
    this._search.stop();
  }

  protected override willUpdate(): void {
    if (this.isConnected) this._search.find(this._filter);
    this._chosen.renew(this._entries);
  }

  private _changed(): void {
    this._search.refresh();
    void this._readFacets();
  }

  private async _readFacets(): Promise<void> {
    // Without them, there are no lists to choose from; the search still works.
    this._facets = await service.jobFacets().catch(() => this._facets);
  }

  private get _filter(): RunFilter {
    const { query } = router.value;
    const text = (name: string) => query.get(name) ?? '';
    const asked = text('state');
    return {
      search: text('q').trim().slice(0, 200),
      state: jobStates.some((one) => one === asked) ? asked : '',
      model_name: text('model'),
      dataset: text('dataset'),
      tag: text('tag'),
      sort: this._order.text,
    };
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
    router.go(`/training/runs${text === '' ? '' : `?${text}`}`, how);
  }

  protected override render(): TemplateResult {
    return html`<div class="page">
      ${sectionTabs('Training', '/training/runs')}
      <h1>Runs</h1>
      <section class="card" aria-label="Runs">${this._body()}</section>
    </div>`;
  }

  private _body(): TemplateResult {
    const { runs, total, error } = this._search.value;
    if (total === null) {
      return error === null ? skeleton(8) : serviceErrorPanel('Could not load the runs', error);
    }
    const { sort: _sort, ...filter } = this._filter;
    const isFiltered = Object.values(filter).some((text) => text !== '');
    if (total === 0 && !isFiltered) {
      return empty('No runs yet', html`Start one under <a href="/training">New training</a>.`);
    }
    return html`
      ${this._tools(runs.length, total)} ${this._bulk()}
      ${error === null ? nothing : serviceErrorPanel('Could not search the runs', error)}
      ${this._table()}
      ${runs.length === 0 ? empty('No matching runs', 'Try a shorter search, or fewer filters.') : nothing}
      ${this._more.end(runs.length < total, this._search.value.isReading)}
    `;
  }

  private _tools(shown: number, total: number): TemplateResult {
    const { state: chosenState, model_name: model, dataset, tag } = this._filter;
    const facets = this._facets;
    return listTools({
      of: 'runs',
      words: router.value.query.get('q') ?? '',
      search: (words) => this._go('q', words, { typed: true }),
      filters: [
        filterSelect('state', stateOptions, chosenState, (value) => this._go('state', value)),
        filterSelect('base model', facetOptions(facets?.models), model, (value) => this._go('model', value)),
        filterSelect('dataset', facetOptions(facets?.datasets), dataset, (value) =>
          this._go('dataset', value),
        ),
        filterSelect('tag', facetOptions(facets?.tags), tag, (value) => this._go('tag', value)),
      ],
      columns: this._columns.menu(() => this.requestUpdate()),
      shown,
      total,
    });
  }

  private _bulk(): TemplateResult {
    return html`<hone-bulk-bar
      noun="run"
      consequence="They are kept in the bin for seven days, with their checkpoints, charts and logs. Trained models are kept."
      .chosen=${this._chosen.entries.map(({ job_id, display_name, tags }) => ({ id: job_id, name: `${display_name} (${job_id})`, tags }))}
      .removeOne=${service.removeJob}
      .tagOne=${(id: string, tags: string[]) => service.identifyJob(id, { tags })}
      .more=${compareButton(this._chosen.ids)}
      @cleared=${() => {
        this._chosen.keep([]);
      }}
      @acted=${({ detail }: CustomEvent<readonly string[]>) => {
        this._chosen.keep(detail);
        void jobs.refresh();
        this._changed();
      }}
    ></hone-bulk-bar>`;
  }

  /** The runs, and after each that stands for the trials of its sweep, these, if they are unfolded. */
  private get _entries(): Job[] {
    const { runs, unfolded } = this._search.value;
    return runs.flatMap((run) => {
      const trials = unfolded.get(run.sweep_id ?? '') ?? [];
      return [run, ...trials.filter(({ job_id }) => job_id !== run.job_id)];
    });
  }

  private _table(): TemplateResult {
    const { folded } = this._search.value;
    return listTable({
      noun: 'run',
      entries: this._entries,
      columns: this._columns,
      boxOf: ({ job_id }) => job_id,
      nameOf: ({ job_id, display_name, sweep_id }) =>
        html`<a href="/training/${job_id}">${nameText(display_name)}</a>
          <small class="muted">${job_id}</small>
          ${this._trials(sweep_id, folded[job_id] ?? 1)}`,
      chosen: this._chosen,
      order: this._order,
      isUnder: ({ job_id, sweep_id }) => sweep_id !== null && folded[job_id] === undefined,
    });
  }

  /** What opens and closes the other trials of a sweep, below the one that stands for them. */
  private _trials(sweepId: string | null, count: number): TemplateResult | typeof nothing {
    if (sweepId === null || count < 2) return nothing;
    const isOpen = this._search.value.unfolded.has(sweepId);
    return html`<small>
      <button
        type="button"
        class="link"
        aria-expanded=${isOpen ? 'true' : 'false'}
        @click=${() => this._search.unfold(sweepId, !isOpen)}
      >
        <span aria-hidden="true">${isOpen ? '▾' : '▸'}</span> ${count} trials</button>
      of <a href=${sweepPath(sweepId)}>${sweepId}</a>
    </small>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-history': History;
  }
}
