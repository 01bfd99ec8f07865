import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { service } from '../../api/service.ts';
import type { HardwareSpecs, Job, JobDetail } from '../../api/types.ts';
import { formatAgo, formatDuration, formatNumber, jobSeconds } from '../../elements/format.ts';
import {
  figure,
  modelName,
  nameText,
  serviceErrorPanel,
  skeleton,
  stateBadge,
} from '../../elements/parts.ts';
import { choices, currentJobId, examples, hardware, isKept, jobs, models, runOf } from '../../state/app.ts';
import { strategyName, taskName } from '../../state/choice-words.ts';
import { isActive, isStoppable, profileName } from '../../state/runs/job-words.ts';
import { paced } from '../../state/runs/pace.ts';
import { Watch } from '../../state/store.ts';
import './first-step.ts';
import { lastResult } from './last-result.ts';
import { nextRuns } from './next-runs.ts';
import '../../views/answering.ts';
import '../../views/runs/cluster-nodes.ts';
import '../../views/runs/live-hardware.ts';
import '../../views/runs/stop-dialog.ts';
import { LightElement } from '../../elements/light-element.ts';
import { lossChart } from '../../views/runs/run-charts.ts';
import { runError, runFigures, runProgress } from '../../views/runs/run-view.ts';

const recentRuns = 6;
/** GB per billion parameters, with the 1.5x training overhead (docs/specification.md, Memory estimate). */
const gbPerBillion = { fourBit: 0.75, sixteenBit: 3 };

/** What runs, what is next, the last result, recent runs, and the machine. */
@customElement('hone-dashboard')
export class Dashboard extends LightElement {
  @state() private _profile: string | null = null;
  /** The run whose stop is being asked for. */
  @state() private _stopping: string | null = null;
  private readonly _pace = paced(() => this.requestUpdate());
  private _followed: string | null = null;
  private _unfollow: (() => void) | null = null;

  constructor() {
    super();
    new Watch(this, choices, currentJobId, jobs, hardware, models);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    hardware.ensure();
    // The examples are what a new user sees first.
    examples.ensure();
    service.recommendations('text-generation').then(
      ({ profile }) => {
        this._profile = profile;
      },
      () => undefined,
    );
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._unfollow?.();
    this._followed = null;
  }

  /** The current run, shown at the top. */
  private _run() {
    const jobId = currentJobId.value;
    if (jobId === null) return null;
    const run = runOf(jobId);
    if (this._followed !== jobId) {
      this._unfollow?.();
      this._followed = jobId;
      this._unfollow = run.subscribe(() => this._pace.ask());
    }
    return run;
  }

  protected override render(): TemplateResult {
    return html`<div class="page">
      <h1>Dashboard</h1>
      <div class="dashboard">
        <div class="column">${this._leading()}${this._next()}${this._last()}${this._recent()}</div>
        <div class="column side" data-waiting=${this._isReady ? nothing : 'yes'}>${this._machine()}<hone-answering></hone-answering><hone-cluster-nodes></hone-cluster-nodes></div>
      </div>
      ${
        this._stopping === null
          ? nothing
          : html`<hone-stop-dialog
              .jobId=${this._stopping}
              @dismiss=${() => {
                this._stopping = null;
              }}
            ></hone-stop-dialog>`
      }
    </div>`;
  }

  /** The run that is shown at the top, as far as it is known. */
  private get _current(): JobDetail | null {
    const jobId = currentJobId.value;
    return jobId === null ? null : runOf(jobId).value.job;
  }

  private _next(): TemplateResult | typeof nothing {
    const page = jobs.value.value;
    return page === null || !this._isReady ? nothing : nextRuns(page.jobs, this._current);
  }

  /** The result of the latest completed run, unless that is at the top. */
  private _last(): TemplateResult | typeof nothing {
    const last = jobs.value.value?.jobs.find(({ state: now }) => now === 'completed');
    return last === undefined || last.job_id === currentJobId.value || !this._isReady
      ? nothing
      : html`<hone-last-result .jobId=${last.job_id}></hone-last-result>`;
  }

  /** Whether the top card has its final height; the cards below wait for it, to avoid layout shift. */
  private get _isReady(): boolean {
    const jobId = currentJobId.value;
    return jobs.value.value !== null && (jobId === null || runOf(jobId).value.job !== null);
  }

  private _leading(): TemplateResult {
    const known = jobs.value;
    if (known.value === null) {
      return known.error === null
        ? html`<section class="card tall">${skeleton(7)}</section>`
        : html`<section class="card">${serviceErrorPanel('Could not load the runs', known.error)}</section>`;
    }
    const run = this._run();
    const job = run?.value.job;
    if (run === null)
      return known.value.total === 0 ? html`<hone-first-step></hone-first-step>` : this._idle();
    if (!job) return html`<section class="card tall">${skeleton(7)}</section>`;
    if (job.state === 'completed' && job.verdict !== null) return html`${lastResult(job)}`;
    return html`<section class="card" aria-labelledby="current">
      <header class="card-head">
        <div>
          <p class="eyebrow">${isActive(job.state) ? (job.state === 'queued' ? 'Queued' : 'Running now') : 'Last run'}</p>
          <h2 id="current"><a href="/training/${job.job_id}">${nameText(job.display_name)}</a></h2>
          <p class="muted">
            ${modelName(job.model_name)} · ${taskName(job.task)} on ${nameText(job.dataset)}, ${strategyName(job.strategy)}
          </p>
        </div>
        ${stateBadge(job.state)}
      </header>
      ${runError(job)} ${runProgress(job)}
      ${
        // Reserves space for the chart before the first step, to avoid layout shift.
        isActive(job.state) || run.series.steps.length > 0
          ? html`<div class="chart-medium">${lossChart(run.series)}</div>
              ${runFigures(job, run)}`
          : nothing
      }
      <footer class="row wrap-row">
        ${
          isActive(job.state) && job.state !== 'queued'
            ? html`<button
                type="button"
                class="danger"
                ?disabled=${!isStoppable(job.state)}
                @click=${() => {
                  this._stopping = job.job_id;
                }}
              >
                ${job.state === 'stopping' ? 'Stopping…' : 'Stop…'}
              </button>`
            : nothing
        }
        <a class="button" href="/training/${job.job_id}">Open the run</a>
        ${
          job.state === 'completed' && isKept(job.model_id)
            ? html`<a class="button primary" href="/playground/${job.model_id}">Try the model</a>`
            : nothing
        }
      </footer>
    </section>`;
  }

  private _idle(): TemplateResult {
    return html`<section class="card" aria-labelledby="idle">
      <h2 id="idle">Nothing is running</h2>
      <p class="muted">This machine is ready for the next run.</p>
      <p><a class="button primary" href="/training">New training</a></p>
    </section>`;
  }

  private _recent(): TemplateResult | typeof nothing {
    const page = jobs.value.value;
    if (page === null || page.jobs.length === 0 || !this._isReady) return nothing;
    return html`<section class="card" aria-labelledby="recent">
      <header class="card-head">
        <h2 id="recent">Recent runs</h2>
        <a href="/training/runs">View all ${page.total.toLocaleString('en')}</a>
      </header>
      <ul class="list">
        ${page.jobs.slice(0, recentRuns).map((job) => recentRun(job))}
      </ul>
    </section>`;
  }

  private _machine(): TemplateResult {
    const { value, error } = hardware.value;
    return html`<section class="card machine" aria-labelledby="machine">
      <header class="card-head">
        <h2 id="machine">This machine</h2>
      </header>
      ${
        value === null
          ? error === null
            ? skeleton(5)
            : serviceErrorPanel('Could not load the hardware details', error)
          : machineFacts(value, this._profile)
      }
      <hone-live-hardware within></hone-live-hardware>
    </section>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-dashboard': Dashboard;
  }
}

function recentRun(job: Job): TemplateResult {
  const loss = job.metrics?.final_loss ?? job.last_metric?.loss;
  const seconds = jobSeconds(job);
  return html`<li>
    <a class="list-link" href="/training/${job.job_id}">
      <span class="list-main">${nameText(job.display_name)}<small class="muted">${modelName(job.model_name)}</small></span>
      <span class="list-figures">
        ${loss == null ? nothing : html`<span>loss ${formatNumber(loss)}</span>`}
        ${seconds === null ? nothing : html`<span>${formatDuration(seconds)}</span>`}
        <span>${formatAgo(job.created_at)}</span>
      </span>
      ${stateBadge(job.state)}
    </a>
  </li>`;
}

function machineFacts(facts: HardwareSpecs, profile: string | null): TemplateResult {
  const gpu = facts.gpu_memory_gb > 0;
  const memory = gpu ? facts.gpu_memory_gb : facts.ram_gb;
  const upTo = (perBillion: number) => `${formatNumber(memory / perBillion, 2)} B`;
  return html`<dl class="facts">
      ${figure('GPU', gpu ? facts.gpu_name : 'None')}
      ${gpu ? figure('GPU memory', `${formatNumber(facts.gpu_memory_gb)} GB`) : nothing}
      ${figure('RAM', `${formatNumber(facts.ram_gb)} GB`)}
      ${figure('Free disk space', `${formatNumber(facts.disk_space_gb)} GB`)}
      ${figure('CPU cores', String(facts.cpu_cores))}
      ${figure('Profile for this machine', profile === null ? '…' : profileName(profile))}
      ${facts.cuda_version === null ? nothing : figure('CUDA', facts.cuda_version)}
      ${facts.torch_version === null ? nothing : figure('PyTorch', facts.torch_version)}
    </dl>
    <p class="note">
      ${
        gpu
          ? html`Can train models with up to about <b>${upTo(gbPerBillion.fourBit)}</b> parameters in 4-bit or
              <b>${upTo(gbPerBillion.sixteenBit)}</b> in 16-bit.`
          : html`No GPU found, so training runs on the CPU. Models with up to about
              <b>${upTo(gbPerBillion.sixteenBit * 2)}</b> parameters fit in memory; those under 0.5 B train in minutes rather than hours.`
      }
    </p>`;
}
