import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { metricName } from '../../../src/contract/training/metric-names.ts';
import type { Job, JobDetail } from '../../api/types.ts';
import { axes } from '../../charts/axis.ts';
import type { ChartLine } from '../../charts/chart-data.ts';
import { ChartGroup } from '../../charts/chart-group.ts';
import type { Mark } from '../../charts/marks.ts';
import { type OwnLine, overlaid } from '../../charts/overlay.ts';
import { checkField } from '../../elements/fields.ts';
import { formatDuration, jobSeconds } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';
import { empty, nameText, skeleton, stateBadge } from '../../elements/parts.ts';
import { settingLabel, settingText } from '../../settings/setting-values.ts';
import { choices, jobs, router, runOf } from '../../state/app.ts';
import { strategyName } from '../../state/choice-words.ts';
import { chartOptions } from '../../state/runs/chart-options.ts';
import { paced } from '../../state/runs/pace.ts';
import type { Run } from '../../state/runs/run.ts';
import type { ColumnName } from '../../state/runs/series.ts';
import { Watch } from '../../state/store.ts';
import { copyLink } from '../../views/copy-link.ts';
import '../../views/report-button.ts';
import { comparedLimit } from '../../views/runs/compare-button.ts';
import { metricText } from '../../views/runs/run-charts.ts';
import { runData } from '../../views/runs/run-data.ts';
import { markLegend, runMarks } from '../../views/runs/run-marks.ts';
import { sectionTabs } from '../../views/tabs/section-tabs.ts';

/** Merging the steps of several long runs is slow, so not on every frame. */
const redrawMs = 500;
const colours = ['--line-1', '--line-2', '--line-3', '--line-4', '--line-5', '--line-6'];

/** Overlays the charts of several runs and lists their differences. */
@customElement('hone-compare')
export class Compare extends LightElement {
  @state() private _all = false;
  /** The run that is chosen to be added. */
  @state() private _next = '';
  private readonly _group = new ChartGroup('Comparison');
  private _followed = '';
  private _ends: (() => void)[] = [];
  private readonly _pace = paced(() => this.requestUpdate(), redrawMs);

  constructor() {
    super();
    new Watch(this, choices, router, jobs, chartOptions);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    for (const end of this._ends) end();
    this._followed = '';
  }

  private get _ids(): string[] {
    return [...new Set(router.value.query.getAll('run'))].slice(0, comparedLimit);
  }

  private _runs(): Run[] {
    const ids = this._ids;
    const runs = ids.map((jobId) => runOf(jobId));
    if (this._followed !== ids.join()) {
      for (const end of this._ends) end();
      this._followed = ids.join();
      this._ends = runs.map((run) => run.subscribe(() => this._pace.ask()));
    }
    return runs;
  }

  private _go(ids: readonly string[]): void {
    const query = ids.map((jobId) => `run=${encodeURIComponent(jobId)}`).join('&');
    router.go(query === '' ? '/training/compare' : `/training/compare?${query}`);
  }

  protected override render(): TemplateResult {
    const runs = this._runs();
    const others = (jobs.value.value?.jobs ?? []).filter(({ job_id }) => !this._ids.includes(job_id));
    return html`<div class="page">
      ${sectionTabs('Training', '/training/runs', true)}
      <header class="page-head">
        <h1>Compare runs</h1>
        ${runs.length === 0 ? nothing : html`<div class="actions">${this._report(runs)} ${copyLink()}</div>`}
      </header>
      ${
        runs.length + others.length === 0
          ? nothing
          : html`<section class="card" aria-label="Selected runs">
        <ul class="chips">
          ${runs.map(
            (run, index) => html`<li class="chip">
              <i class="swatch" data-colour=${(colours[index] as string).slice(2)}></i>
              <a href="/training/${run.jobId}">${nameText(nameOf(run))}</a>
              <button
                type="button"
                class="tool"
                aria-label="Remove ${nameOf(run)} (${run.jobId})"
                @click=${() => this._go(this._ids.filter((jobId) => jobId !== run.jobId))}
              >
                <span aria-hidden="true">×</span>
              </button>
            </li>`,
          )}
          ${
            others.length > 0 && runs.length < comparedLimit
              ? html`<li>${this._adding(others)}</li>`
              : nothing
          }
        </ul>
      </section>`
      }
      ${runs.length > 0 ? this._comparison(runs) : html`<section class="card">${noRuns(others.length)}</section>`}
    </div>`;
  }

  /** A report of the runs that exist, once that is known of each. */
  private _report(runs: readonly Run[]): TemplateResult | typeof nothing {
    const loaded = runs.filter(isLoaded);
    return loaded.length === 0 || !runs.every((run) => isLoaded(run) || isGone(run))
      ? nothing
      : html`<hone-report-button .ids=${loaded.map(({ jobId }) => jobId)}></hone-report-button>`;
  }

  /** A run is added by the button: the arrow keys change what is chosen in a select. */
  private _adding(others: readonly Job[]): TemplateResult {
    const chosen = others.some(({ job_id }) => job_id === this._next) ? this._next : '';
    return html`<form
      class="row"
      @submit=${(event: Event) => {
        event.preventDefault();
        if (chosen !== '') this._go([...this._ids, chosen]);
      }}
    >
      <select
        aria-label="Run to add"
        @change=${(event: Event) => {
          this._next = (event.target as HTMLSelectElement).value;
        }}
      >
        <option value="" ?selected=${chosen === ''}>Choose a run…</option>
        ${others.map(
          ({ job_id, display_name, model_name }) =>
            html`<option value=${job_id} ?selected=${job_id === chosen}>${display_name} (${job_id}: ${model_name})</option>`,
        )}
      </select>
      <button type="submit" ?disabled=${chosen === ''}>Add</button>
    </form>`;
  }

  private _comparison(runs: readonly Run[]): TemplateResult {
    const loaded = runs.filter(isLoaded);
    const gone = runs.flatMap((run) =>
      isGone(run) ? [{ jobId: run.jobId, message: run.value.error?.message ?? '' }] : [],
    );
    if (loaded.length === 0 && gone.length === 0)
      return html`<section class="card tall">${skeleton(8)}</section>`;
    const marks = runs.flatMap((run, index) =>
      runMarks(run, { name: labelOf(runs, index), colour: colours[index] as string }),
    );
    const shared = { group: this._group, marks };
    return html`
      ${gone.map(({ jobId, message }) => html`<p class="note" role="status">${jobId}: ${message}</p>`)}
      <section class="card" aria-labelledby="charts">
        <h2 class="off-screen" id="charts">Charts</h2>
        <hone-chart-toolbar .group=${this._group}></hone-chart-toolbar>
        ${markLegend(shared.marks)}
        <div class="charts">
          <div class="chart-wide">${overlay('Loss', runs, column('loss'), shared, true)}</div>
          ${overlay('Evaluation loss', runs, evaluations, shared)}
          ${overlay('Gradient norm', runs, column('grad_norm'), shared, true)}
          ${overlay('Learning rate', runs, column('learning_rate'), shared)}
        </div>
      </section>
      ${this._table(loaded.map((run) => run.value.job as JobDetail))}
    `;
  }

  private _table(found: readonly JobDetail[]): TemplateResult {
    const rows = differences(found);
    const shown = this._all ? rows : rows.filter(({ differs }) => differs);
    return html`<section class="card" aria-labelledby="differences">
      <header class="card-head">
        <h2 id="differences">Differences</h2>
        ${checkField('Show identical rows', this._all, (on) => {
          this._all = on;
        })}
      </header>
      <div class="scroll-box" tabindex="0" role="region" aria-label="Table of differences">
        <table class="rows compared">
          <thead>
            <tr>
              <th scope="col">Setting or result</th>
              ${found.map((job) => html`<th scope="col">${nameText(job.display_name)}<br /><small class="muted">${job.job_id}</small></th>`)}
            </tr>
          </thead>
          <tbody>
            ${
              this._all || new Set(found.map(({ state }) => state)).size > 1
                ? html`<tr>
                    <th scope="row">State</th>
                    ${found.map((job) => html`<td>${stateBadge(job.state)}</td>`)}
                  </tr>`
                : nothing
            }
            ${shown.map(
              ({ label, values, differs }) => html`<tr class=${differs && this._all ? 'differs' : ''}>
                <th scope="row">${label}</th>
                ${values.map((value) => html`<td>${nameText(value)}</td>`)}
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </section>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-compare': Compare;
  }
}

const noRuns = (others: number) =>
  others === 0
    ? empty('No runs yet', html`Start one under <a href="/training">New training</a>.`)
    : empty('No runs selected', `Add up to ${comparedLimit} runs to overlay their charts.`);

/** Whether a run was deleted, maybe since it was loaded. */
const isGone = ({ value: { job, error } }: Run) => error !== null && (job === null || error.status === 404);
const isLoaded = (run: Run) => run.value.job !== null && !isGone(run);

/** A metric of a run at each of its steps. */
const column =
  (name: ColumnName) =>
  ({ series }: Run): OwnLine => ({ x: series.xs(chartOptions.value.x), values: series.columns[name] });

function evaluations({ series }: Run): OwnLine {
  const { x } = chartOptions.value;
  return {
    x: series.evals.map((evaluation) => series.placeOf(evaluation, x)),
    values: series.evals.map(({ metrics }) => metrics?.eval_loss ?? null),
  };
}

/** One line for each run, over all of their x values. */
function overlay(
  heading: string,
  runs: readonly Run[],
  lineOf: (run: Run) => OwnLine,
  { group, marks }: { readonly group: ChartGroup; readonly marks: readonly Mark[] },
  isNoisy = false,
): TemplateResult | typeof nothing {
  const { x: name, log, smoothing, all } = chartOptions.value;
  const own = runs.map((run) => lineOf(run));
  const { x, values } = overlaid(own);
  if (x.length === 0) return nothing;
  const lines = own.map(
    (line, index): ChartLine => ({
      label: labelOf(runs, index),
      colour: colours[index] as string,
      values: values[index] ?? [],
      sparse: line.x.length < 60,
      smooth: isNoisy,
      // Runs may have different steps: long ones are downsampled.
      joined: true,
    }),
  );
  return html`<hone-chart
    .heading=${heading}
    .xs=${[{ axis: axes[name], values: x }]}
    .lines=${lines}
    .group=${group}
    .marks=${marks}
    .log=${log}
    .robust=${!all}
    .smoothing=${smoothing}
    .revision=${values}
  ></hone-chart>`;
}

/** What a run is called; its ID until it is loaded. */
const nameOf = ({ jobId, value }: Run): string => value.job?.display_name ?? jobId;

/** A run's line in a legend: with its ID where others have the same name. */
function labelOf(runs: readonly Run[], index: number): string {
  const run = runs[index] as Run;
  const name = nameOf(run);
  return runs.filter((other) => nameOf(other) === name).length > 1 ? `${name} (${run.jobId})` : name;
}

interface Difference {
  readonly label: string;
  readonly values: readonly string[];
  readonly differs: boolean;
}

function differences(found: readonly JobDetail[]): Difference[] {
  const row = (label: string, read: (job: JobDetail) => string): Difference => {
    const values = found.map(read);
    return { label, values, differs: new Set(values).size > 1 };
  };
  const keys = (read: (job: JobDetail) => object | null) => [
    ...new Set(found.flatMap((job) => Object.keys(read(job) ?? {}))),
  ];
  return [
    row('Tags', (job) => job.tags.join(', ')),
    row('Notes', (job) => job.notes),
    row('Model', (job) => job.model_name),
    ...found
      .slice(0, 1)
      .flatMap(runData)
      .map(({ name, label }) =>
        row(label, (job) => runData(job).find((fact) => fact.name === name)?.text ?? ''),
      ),
    row('Task', (job) => job.task),
    row('Strategy', (job) => strategyName(job.strategy)),
    row('Provider', (job) => job.provider),
    row('Duration', (job) => formatDuration(jobSeconds(job))),
    ...keys((job) => job.metrics).map((key) =>
      row(metricName(key), (job) => metricText(key, job.metrics?.[key])),
    ),
    ...keys((job) => job.settings).map((key) =>
      row(settingLabel(key), (job) => settingText(job.settings[key])),
    ),
  ];
}
