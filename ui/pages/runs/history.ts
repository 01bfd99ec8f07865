import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import type { Job } from '../../api/types.ts';
import {
  formatCount,
  formatDuration,
  formatMoment,
  formatNumber,
  jobSeconds,
} from '../../elements/format.ts';
import { empty, modelName, nameText, serviceErrorPanel, skeleton, stateBadge } from '../../elements/parts.ts';
import { jobs, readOlderJobs, router } from '../../state/app.ts';
import { Watch } from '../../state/store.ts';
import { trainingTabs } from '../../views/training-tabs.ts';

/** As many lines as can be told apart. */
export const comparedLimit = 6;

/** All runs, newest first; selected ones can be compared. */
@customElement('hone-history')
export class History extends LitElement {
  @state() private _chosen: readonly string[] = [];
  @state() private _search = '';
  @state() private _isReading = false;

  constructor() {
    super();
    new Watch(this, jobs);
  }

  protected override createRenderRoot(): this {
    return this;
  }

  private _choose(jobId: string, chosen: boolean): void {
    const others = this._chosen.filter((other) => other !== jobId);
    this._chosen = chosen ? [...others, jobId].slice(-comparedLimit) : others;
  }

  protected override willUpdate(): void {
    const known = jobs.value.value?.jobs;
    if (known === undefined) return;
    const left = this._chosen.filter((jobId) => known.some(({ job_id }) => job_id === jobId));
    if (left.length < this._chosen.length) this._chosen = left;
  }

  private async _older(): Promise<void> {
    if (this._isReading) return;
    this._isReading = true;
    await readOlderJobs();
    this._isReading = false;
  }

  private _compare(): void {
    router.go(
      `/training/compare?${this._chosen.map((jobId) => `run=${encodeURIComponent(jobId)}`).join('&')}`,
    );
  }

  protected override render(): TemplateResult {
    return html`<div class="page">
      ${trainingTabs('/training/runs')}
      <header class="page-head">
        <h1>Runs</h1>
        <div class="actions">
          <button type="button" ?disabled=${this._chosen.length < 2} @click=${this._compare}>
            Compare ${this._chosen.length > 0 ? this._chosen.length : ''} selected
          </button>
          <a class="button primary" href="/training">New training</a>
        </div>
      </header>
      <section class="card" aria-label="Runs">${this._body()}</section>
    </div>`;
  }

  private _body(): TemplateResult {
    const { value, error } = jobs.value;
    if (value === null) {
      return error === null ? skeleton(8) : serviceErrorPanel('Could not load the runs', error);
    }
    if (value.jobs.length === 0) {
      return empty('No runs yet', html`Start one under <a href="/training">New training</a>.`);
    }
    const words = this._search.trim().toLowerCase();
    const found = value.jobs.filter((job) =>
      `${job.job_id} ${job.model_name} ${job.dataset} ${job.state} ${job.strategy}`
        .toLowerCase()
        .includes(words),
    );
    return html`
      <div class="row between wrap-row">
        <input
          type="search"
          class="search"
          placeholder="Search runs"
          aria-label="Search runs"
          .value=${this._search}
          @input=${(event: Event) => {
            this._search = (event.target as HTMLInputElement).value;
          }}
        />
        <span class="muted tabular" role="status">
          ${found.length.toLocaleString('en')} of ${value.total.toLocaleString('en')}
        </span>
      </div>
      <div class="scroll-box" tabindex="0" role="region" aria-label="Table of runs">
        <table class="rows">
          <thead>
            <tr>
              <th scope="col"><span class="off-screen">Compare</span></th>
              <th scope="col">Run</th>
              <th scope="col">Model and dataset</th>
              <th scope="col">State</th>
              <th scope="col" class="right spare">Steps</th>
              <th scope="col" class="right spare-narrow">Loss</th>
              <th scope="col" class="right spare">Eval loss</th>
              <th scope="col" class="right spare">Duration</th>
              <th scope="col" class="right spare">Created</th>
            </tr>
          </thead>
          <tbody>${found.map((job) => this._row(job))}</tbody>
        </table>
      </div>
      ${found.length === 0 ? empty('No matching runs', 'Try a shorter search.') : nothing}
      ${
        value.jobs.length < value.total
          ? html`<div class="row between wrap-row">
              <p class="note">Showing the newest ${formatCount(value.jobs.length)} of ${formatCount(value.total)} runs.</p>
              <button type="button" class="small" ?disabled=${this._isReading} @click=${this._older}>
                ${this._isReading ? 'Loading…' : 'Load more'}
              </button>
            </div>`
          : nothing
      }
    `;
  }

  private _row(job: Job): TemplateResult {
    const last = job.last_metric;
    return html`<tr>
      <td>
        <input
          type="checkbox"
          aria-label="Compare ${job.job_id}"
          .checked=${this._chosen.includes(job.job_id)}
          @change=${(event: Event) => this._choose(job.job_id, (event.target as HTMLInputElement).checked)}
        />
      </td>
      <th scope="row"><a href="/training/${job.job_id}">${job.job_id}</a></th>
      <td class="two-lines">${modelName(job.model_name)}<small class="muted">${nameText(job.dataset)}</small></td>
      <td>${stateBadge(job.state)}</td>
      <td class="right spare">${formatCount(last?.step)}</td>
      <td class="right spare-narrow">${formatNumber(job.metrics?.final_loss ?? last?.loss)}</td>
      <td class="right spare">${formatNumber(job.metrics?.eval_loss)}</td>
      <td class="right spare">${formatDuration(jobSeconds(job))}</td>
      <td class="right spare">${formatMoment(job.created_at)}</td>
    </tr>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-history': History;
  }
}
