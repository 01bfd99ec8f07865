import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { jobStates } from '../../../src/contract/jobs.ts';
import { service } from '../../api/service.ts';
import type { Facets, Job } from '../../api/types.ts';
import { keyedRow } from '../../elements/child.ts';
import { empty, nameText, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { choices, jobs, router } from '../../state/app.ts';
import { stateName } from '../../state/job-words.ts';
import { type RunFilter, RunSearch } from '../../state/run-search.ts';
import { Watch } from '../../state/store.ts';
import { ChosenColumns, facetOptions, filterSelect } from '../../views/list-tools.ts';
import { trainingTabs } from '../../views/training-tabs.ts';
import { type RunColumn, runColumns } from './run-columns.ts';
import '../../views/bulk-bar.ts';

/** As many lines as can be told apart. */
export const comparedLimit = 6;

const stateOptions = jobStates.map((value) => ({ value, name: stateName(value) }));

/** All runs, newest first, found by the service. The URL holds the search; several can be chosen. */
@customElement('hone-history')
export class History extends LitElement {
  @state() private _chosen: ReadonlyMap<string, Job> = new Map();
  @state() private _facets: Facets | null = null;
  private readonly _search = new RunSearch(jobs);
  private readonly _columns = new ChosenColumns<RunColumn>('run-columns', runColumns);
  private readonly _watcher = new IntersectionObserver((entries) => {
    if (entries.some(({ isIntersecting }) => isIntersecting)) this._search.more();
  });
  private _unfollow: (() => void) | null = null;

  constructor() {
    super();
    new Watch(this, router, choices, this._search);
  }

  protected override createRenderRoot(): this {
    return this;
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
    this._watcher.disconnect();
  }

  protected override willUpdate(): void {
    if (this.isConnected) this._search.find(this._filter);
  }

  protected override updated(): void {
    this._watcher.disconnect();
    const more = this.querySelector('.more');
    if (more !== null && !this._search.value.isReading) this._watcher.observe(more);
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
    };
  }

  /** Changes one part of the search in the URL. */
  private _go(name: string, value: string): void {
    const query = new URLSearchParams(router.value.query);
    if (value === '') query.delete(name);
    else query.set(name, value);
    const text = query.toString();
    router.go(`/training/runs${text === '' ? '' : `?${text}`}`, { replace: true });
  }

  private _choose(runs: readonly Job[], on: boolean): void {
    const next = new Map(this._chosen);
    for (const run of runs) {
      if (on) next.set(run.job_id, run);
      else next.delete(run.job_id);
    }
    this._chosen = next;
  }

  protected override render(): TemplateResult {
    return html`<div class="page">
      ${trainingTabs('/training/runs')}
      <header class="page-head">
        <h1>Runs</h1>
        <div class="actions"><a class="button primary" href="/training">New training</a></div>
      </header>
      <section class="card" aria-label="Runs">${this._body()}</section>
    </div>`;
  }

  private _body(): TemplateResult {
    const { runs, total, error } = this._search.value;
    if (total === null) {
      return error === null ? skeleton(8) : serviceErrorPanel('Could not load the runs', error);
    }
    const isFiltered = Object.values(this._filter).some((text) => text !== '');
    if (total === 0 && !isFiltered) {
      return empty('No runs yet', html`Start one under <a href="/training">New training</a>.`);
    }
    return html`
      ${this._tools(runs.length, total)} ${this._bulk()}
      ${error === null ? nothing : serviceErrorPanel('Could not search the runs', error)}
      <div class="scroll-box" tabindex="0" role="region" aria-label="Table of runs">${this._table(runs)}</div>
      ${runs.length === 0 ? empty('No matching runs', 'Try a shorter search, or fewer filters.') : nothing}
      ${
        runs.length < total
          ? html`<p class="more">
              <button type="button" ?disabled=${this._search.value.isReading} @click=${() => this._search.more()}>
                ${this._search.value.isReading ? 'Loading…' : 'Load more'}
              </button>
            </p>`
          : nothing
      }
    `;
  }

  private _tools(shown: number, total: number): TemplateResult {
    const { state: chosenState, model_name: model, dataset, tag } = this._filter;
    const facets = this._facets;
    return html`<div class="row wrap-row list-tools">
      <input
        type="search"
        class="search"
        placeholder="Search runs"
        aria-label="Search runs"
        maxlength="200"
        .value=${router.value.query.get('q') ?? ''}
        @input=${(event: Event) => this._go('q', (event.target as HTMLInputElement).value)}
      />
      ${filterSelect('state', stateOptions, chosenState, (value) => this._go('state', value))}
      ${filterSelect('base model', facetOptions(facets?.models), model, (value) => this._go('model', value))}
      ${filterSelect('dataset', facetOptions(facets?.datasets), dataset, (value) => this._go('dataset', value))}
      ${filterSelect('tag', facetOptions(facets?.tags), tag, (value) => this._go('tag', value))}
      ${this._columns.menu(() => this.requestUpdate())}
      <span class="muted tabular" role="status">
        ${shown.toLocaleString('en')} of ${total.toLocaleString('en')}
      </span>
    </div>`;
  }

  private _bulk(): TemplateResult {
    const ids = [...this._chosen.keys()];
    const compare = html`<button
      type="button"
      class="small"
      ?disabled=${ids.length < 2 || ids.length > comparedLimit}
      title=${ids.length > comparedLimit ? `At most ${comparedLimit} can be compared` : nothing}
      @click=${() => router.go(`/training/compare?${ids.map((id) => `run=${encodeURIComponent(id)}`).join('&')}`)}
    >
      Compare
    </button>`;
    return html`<hone-bulk-bar
      noun="run"
      consequence="Their checkpoints, charts and logs are permanently deleted. Trained models are kept."
      .chosen=${[...this._chosen.values()].map(({ job_id, display_name, tags }) => ({ id: job_id, name: `${display_name} (${job_id})`, tags }))}
      .removeOne=${(id: string) => service.removeJob(id)}
      .tagOne=${(id: string, tags: string[]) => service.identifyJob(id, { tags })}
      .more=${compare}
      @cleared=${() => {
        this._chosen = new Map();
      }}
      @acted=${({ detail }: CustomEvent<readonly string[]>) => {
        this._chosen = new Map([...this._chosen].filter(([id]) => detail.includes(id)));
        void jobs.refresh();
        this._changed();
      }}
    ></hone-bulk-bar>`;
  }

  private _table(runs: readonly Job[]): TemplateResult {
    const columns = this._columns.shown;
    const isAll = runs.length > 0 && runs.every(({ job_id }) => this._chosen.has(job_id));
    return html`<table class="rows">
      <thead>
        <tr>
          <th scope="col">
            <input
              type="checkbox"
              aria-label="Select all shown runs"
              .checked=${isAll}
              @change=${(event: Event) => this._choose(runs, (event.target as HTMLInputElement).checked)}
            />
          </th>
          <th scope="col">Run</th>
          ${columns.map((column) => html`<th scope="col" class=${this._columns.classOf(column)}>${column.name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${keyedRow(
          runs,
          ({ job_id }) => job_id,
          (job) => html`<tr>
            <td>
              <input
                type="checkbox"
                aria-label="Select ${job.job_id}"
                .checked=${this._chosen.has(job.job_id)}
                @change=${(event: Event) => this._choose([job], (event.target as HTMLInputElement).checked)}
              />
            </td>
            <th scope="row" class="two-lines">
              <a href="/training/${job.job_id}">${nameText(job.display_name)}</a>
              <small class="muted">${job.job_id}</small>
            </th>
            ${columns.map((column) => html`<td class=${this._columns.classOf(column)}>${column.of(job)}</td>`)}
          </tr>`,
        )}
      </tbody>
    </table>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-history': History;
  }
}
