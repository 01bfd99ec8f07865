import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { withoutProgressBars } from '../../../src/contract/log-text.ts';
import { service } from '../../api/service.ts';
import type { Identity, JobDetail } from '../../api/types.ts';
import { ChartGroup } from '../../charts/chart-group.ts';
import { formatCount, formatMoment } from '../../elements/format.ts';
import { empty, modelName, serviceErrorPanel, skeleton, stateBadge } from '../../elements/parts.ts';
import { fillFrom } from '../../settings/fill-from.ts';
import { saveSettings } from '../../settings/settings-file.ts';
import { settingsTable } from '../../settings/settings-table.ts';
import { Action } from '../../state/action.ts';
import {
  choices,
  currentJobId,
  datasets,
  evaluations,
  forgetRun,
  isKept,
  jobs,
  models,
  router,
  runOf,
  toasts,
} from '../../state/app.ts';
import { strategyName, taskName } from '../../state/choice-words.ts';
import { endNotices } from '../../state/end-notices.ts';
import { asServiceError, Reread } from '../../state/remote.ts';
import { sweepPath } from '../../state/router.ts';
import { chartOptions } from '../../state/runs/chart-options.ts';
import { isActive, isEnded, isResumable, isStoppable } from '../../state/runs/job-words.ts';
import { paced } from '../../state/runs/pace.ts';
import type { Run } from '../../state/runs/run.ts';
import { Watch } from '../../state/store.ts';
import { endNoticeButton } from '../../views/end-notice-button.ts';
import { metricFigures, runCharts } from '../../views/runs/run-charts.ts';
import { runData } from '../../views/runs/run-data.ts';
import { consumptionNote, runError, runFigures, runProgress } from '../../views/runs/run-view.ts';
import { logView } from './log-view.ts';
import { runEvents } from './run-events.ts';
import { runSamples } from './run-samples.ts';
import '../../views/identity.ts';
import '../../views/runs/live-hardware.ts';
import '../../views/model-export.ts';
import './stop-dialog.ts';
import { LightElement } from '../../elements/light-element.ts';
import { datasetLink } from '../../views/lineage/dataset-link.ts';
import { evaluationLinks } from '../../views/lineage/evaluation-links.ts';
import { verdictView } from '../../views/runs/verdict.ts';
import { verificationFigures } from '../../views/runs/verification.ts';
import { trainingTabs } from '../../views/training-tabs.ts';

const logBytes = 65_536;
const logEveryMs = 2_000;
const views = ['Overview', 'Charts', 'Samples', 'Events', 'Log', 'Settings'] as const;
type View = (typeof views)[number];

/** One run: its progress, charts, samples, events, log, settings and actions. */
@customElement('hone-run')
export class RunPage extends LightElement {
  @property() jobId = '';
  @state() private _dialog: 'stop' | 'delete' | null = null;
  private readonly _action = new Action(this);
  @state() private _log: string | null = null;
  private _group = new ChartGroup();
  private _followed = '';
  private _unfollow: (() => void) | null = null;
  private readonly _pace = paced(() => this.requestUpdate());
  private _logTimer: ReturnType<typeof setInterval> | null = null;

  constructor() {
    super();
    new Watch(this, choices, endNotices, jobs, models, chartOptions);
    new Reread(this, datasets, evaluations);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this._logTimer = setInterval(() => {
      if (this._view === 'Log' && isActive(this._run.value.job?.state ?? '')) void this._readLog();
    }, logEveryMs);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    if (this._logTimer !== null) clearInterval(this._logTimer);
    this._pace.cancel();
    this._unfollow?.();
    this._followed = '';
  }

  private get _run(): Run {
    return runOf(this.jobId);
  }

  private get _view(): View {
    const asked = router.value.query.get('view');
    return views.find((view) => view.toLowerCase() === asked) ?? 'Overview';
  }

  protected override willUpdate(): void {
    if (this._followed === this.jobId || !this.isConnected) return;
    this._unfollow?.();
    this._followed = this.jobId;
    this._log = null;
    this._group = new ChartGroup();
    const unfollowRun = this._run.subscribe(() => this._pace.ask());
    const unfollowRoute = router.subscribe(() => this.requestUpdate());
    this._unfollow = () => {
      unfollowRun();
      unfollowRoute();
    };
  }

  protected override updated(): void {
    if (this._view === 'Log' && this._log === null) void this._readLog();
  }

  private async _readLog(): Promise<void> {
    this._log ??= '';
    const jobId = this.jobId;
    const log = await service.log(jobId, logBytes).catch((error) => asServiceError(error).message);
    const text = withoutProgressBars(log);
    if (jobId !== this.jobId || text === this._log) return;
    const box = this.querySelector('.log-view');
    const atEnd = box === null || box.scrollTop + box.clientHeight >= box.scrollHeight - 8;
    this._log = text;
    await this.updateComplete;
    if (atEnd) this.querySelector('.log-view')?.scrollTo({ top: 1e9 });
  }

  protected override render(): TemplateResult {
    const { job, error, gone } = this._run.value;
    // Another tab may have deleted it; one that is being deleted here is about to be left.
    const isLeaving = this._action.busy || this._dialog !== null;
    if (job === null || (error?.status === 404 && !isLeaving)) {
      return html`<div class="page">
        ${trainingTabs('/training/runs', true)}
        <h1>${this.jobId}</h1>
        ${
          error === null
            ? html`<section class="card tall">${skeleton(9)}</section>`
            : error.status === 404
              ? html`<section class="card">
                  ${
                    gone === undefined
                      ? empty('Run not found', html`<a href="/training/runs">All runs</a>`)
                      : empty(
                          `This run was ${gone}`,
                          html`Its checkpoints, charts and log are gone. <a href="/training/runs">All runs</a>`,
                        )
                  }
                </section>`
              : serviceErrorPanel('Could not load the run', error)
        }
      </div>`;
    }
    return html`<div class="page">
      ${trainingTabs('/training/runs', true)}
      <header class="page-head run-title">
        <div>
          <p class="eyebrow tabular">${job.job_id} · ${formatMoment(job.created_at)}</p>
          <hone-identity
            .jobId=${job.job_id}
            .of=${job}
            @identified=${({ detail }: CustomEvent<Identity>) => this._run.identify(detail)}
          ></hone-identity>
          <p class="muted">
            ${taskName(job.task)} on
            ${datasetLink(job.dataset)}${job.validation_dataset === null ? nothing : html`, validated on ${datasetLink(job.validation_dataset)}`}
            · ${strategyName(job.strategy)} · ${job.provider}${workersWords(job)} · base ${modelName(job.model_name)}
          </p>
          ${descent(job)}
        </div>
        <div class="actions">${stateBadge(job.state)} ${this._actions(job)}</div>
      </header>
      <nav class="views" aria-label="Views of this run">
        ${views.map(
          (view) => html`<a
            href="/training/${job.job_id}?view=${view.toLowerCase()}"
            aria-current=${view === this._view ? 'true' : nothing}
            >${view}</a
          >`,
        )}
      </nav>
      ${this._content(job)} ${this._dialogs(job)}
    </div>`;
  }

  private _actions(job: JobDetail): TemplateResult {
    return html`
      ${
        isActive(job.state)
          ? html`<button
              type="button"
              class="danger"
              ?disabled=${!isStoppable(job.state)}
              @click=${() => (job.state === 'queued' ? this._unqueue() : this._open('stop'))}
            >
              ${job.state === 'stopping' ? 'Stopping…' : job.state === 'queued' ? 'Remove from queue' : 'Stop…'}
            </button>`
          : nothing
      }
      ${
        job.state === 'completed' && isKept(job.model_id)
          ? html`<a class="button primary" href="/playground/${job.model_id}">Try the model</a>
              <a class="button" href="/models/${job.model_id}">View model</a>`
          : nothing
      }
      ${
        isResumable(job.state)
          ? html`<button type="button" class="primary" ?disabled=${this._action.busy} @click=${this._resume}>
              ${job.trained ? 'Export again' : job.last_metric === null ? 'Start again' : 'Resume'}${this._other ? ' after the running one' : ''}
            </button>`
          : nothing
      }
      ${job.request === null ? nothing : html`<button type="button" @click=${() => this._duplicate(job)}>Duplicate</button>`}
      ${
        job.state !== 'completed' && hasCheckpoint(job, this._run)
          ? html`<a class="button" href="/playground/${job.model_id}">Try a checkpoint</a>`
          : nothing
      }
      ${isEnded(job.state) ? html`<a class="button" href="/training/compare?run=${job.job_id}">Compare</a>` : nothing}
      ${
        isEnded(job.state)
          ? html`<button type="button" ?disabled=${this._action.busy} @click=${() => this._open('delete')}>Delete…</button>`
          : nothing
      }
    `;
  }

  /** Another run that is running or queued. */
  private get _other() {
    return jobs.value.value?.jobs.find((job) => job.job_id !== this.jobId && isActive(job.state));
  }

  /** Opens the training form with the settings of this run. */
  private _duplicate({ request, display_name, job_id }: JobDetail): void {
    if (request !== null) fillFrom(request, display_name, `/training/${job_id}`);
    router.go('/training');
  }

  private _open(dialog: 'stop' | 'delete'): void {
    this._dialog = dialog;
  }

  private _dialogs(job: JobDetail): TemplateResult | typeof nothing {
    if (this._dialog === 'stop') {
      return html`<hone-stop-dialog .jobId=${job.job_id} @dismiss=${this._dismiss}></hone-stop-dialog>`;
    }
    if (this._dialog === 'delete') {
      const content = html`<p>
          Its checkpoints, charts and log are permanently deleted.
          ${job.state === 'completed' ? 'The trained model is kept.' : 'The run can no longer be resumed.'}
        </p>
        <div class="row end">
          <button type="button" @click=${() => this._closeDialog()}>Cancel</button>
          <button type="button" class="danger" ?disabled=${this._action.busy} @click=${() => this._delete()}>Delete run</button>
        </div>`;
      return html`<hone-dialog
        heading="Delete ${job.display_name} (${job.job_id})?"
        .content=${content}
        @dismiss=${this._dismiss}
      ></hone-dialog>`;
    }
    return nothing;
  }

  private _closeDialog(): void {
    this.querySelector('dialog')?.close();
  }

  private _dismiss(): void {
    this._dialog = null;
  }

  private async _resume(): Promise<void> {
    await this._do(async () => {
      const { state: begun } = await service.resume(this.jobId, this._other !== undefined);
      if (begun !== 'queued') currentJobId.set(this.jobId);
      await this._run.load();
    });
  }

  private async _unqueue(): Promise<void> {
    await this._do(async () => {
      await service.stop(this.jobId);
      await this._run.load();
    });
  }

  private async _delete(): Promise<void> {
    await this._do(async () => {
      const { message } = await service.removeJob(this.jobId);
      this._closeDialog();
      forgetRun(this.jobId, 'deleted');
      toasts.show(message);
      router.go('/training/runs');
    });
  }

  /** Runs one action at a time and shows an error if it fails. */
  private async _do(act: () => Promise<void>): Promise<void> {
    await this._action.run(act);
    if (this._action.error === null) return;
    toasts.show(this._action.error.message, 'error');
    void this._run.load();
  }

  /** While it runs, its progress and charts; then what it gained, or why it ended. */
  private _overview(job: JobDetail): TemplateResult {
    // One that has just been completed has its verdict in a moment: until then nothing moves.
    const isRunning = isActive(job.state) || job.state === 'completed';
    if (job.verdict === null) {
      return html`${runError(job)}
        <div class=${isRunning ? 'run-head' : ''}>
          <section class="card" aria-label="Progress">
            ${progressOf(job, this._run)} ${isRunning ? endNoticeButton() : nothing}
          </section>
          ${isRunning ? html`<hone-live-hardware></hone-live-hardware>` : nothing}
        </div>
        ${this._charts(job)}`;
    }
    return html`${verdictView(job, job.verdict, isKept(job.model_id))}
      ${
        isKept(job.model_id)
          ? html`<hone-model-export .modelId=${job.model_id} @made=${() => this._run.load()}></hone-model-export>`
          : nothing
      }
      ${detailsCard(job, this._run)} ${this._charts(job)}`;
  }

  private _charts(job: JobDetail): TemplateResult {
    if (this._run.series.steps.length === 0) {
      return html`<section class="card">
        ${empty(
          'No charts yet',
          isActive(job.state)
            ? 'Charts appear after the first step.'
            : 'This run ended before its first step.',
        )}
      </section>`;
    }
    return html`<section class="card" aria-label="Charts">
      <hone-chart-toolbar .group=${this._group}></hone-chart-toolbar>
      ${runCharts(this._run, this._group)} ${thinned(this._run)}
      <p class="note">
        Outliers are left out of the range unless it has all values: they are farther from the middle 90% than 1.5 times
        its width. Drag to zoom, Shift-drag to pan, double-click to reset. The buttons and arrow keys also work.
      </p>
    </section>`;
  }

  private _content(job: JobDetail): TemplateResult {
    this._group.title = job.display_name;
    switch (this._view) {
      case 'Overview':
        return this._overview(job);
      case 'Charts':
        return this._charts(job);
      case 'Samples':
        return html`<section class="card" aria-label="Samples">${runSamples(this._run)}</section>`;
      case 'Events':
        return html`<section class="card" aria-label="Events">${runEvents(this._run.events, job)}</section>`;
      case 'Log':
        return logView(this._log);
      case 'Settings':
        return html`<section class="card" aria-label="Settings">
          ${
            job.request === null
              ? nothing
              : html`<div class="row end">
                  <button type="button" class="small" @click=${() => saveSettings(job.display_name, job.request ?? {})}>
                    Export settings
                  </button>
                </div>`
          }
          ${settingsTable(job.settings, 'Settings of the run', runData(job))}</section>`;
    }
  }
}

const hasCheckpoint = ({ checkpoints }: JobDetail, { events }: Run) =>
  checkpoints.length > 0 || events.some((event) => event.type === 'log' && event.kind === 'checkpoint');

declare global {
  interface HTMLElementTagNameMap {
    'hone-run': RunPage;
  }
}

/** The progress of a run, and the figures of its latest step. */
function progressOf(job: JobDetail, run: Run): TemplateResult {
  return html`${runProgress(job)} ${isActive(job.state) || job.last_metric !== null ? runFigures(job, run) : nothing}`;
}

/** What experts look at in a completed run. */
function detailsCard(job: JobDetail, run: Run): TemplateResult {
  return html`<section class="card" aria-label="Details">
    <details class="fold bare">
      <summary>Details</summary>
      ${progressOf(job, run)} ${metricFigures(job.metrics)} ${verificationFigures(job.verification)}
      ${consumptionNote(job)}
    </details>
  </section>`;
}

/** The sweep that a run is a trial of, and the evaluations of its model and checkpoints. */
function descent({ sweep_id: sweep, job_id, model_id }: JobDetail): TemplateResult | typeof nothing {
  const found = evaluationLinks((one) => one.job_id === job_id || one.model_id === model_id);
  if (sweep === null && found === null) return nothing;
  return html`<p class="muted">
    ${sweep === null ? nothing : html`Trial of <a href=${sweepPath(sweep)}>${sweep}</a>`}${sweep === null || found === null ? nothing : ' · '}${found === null ? nothing : html`Evaluations: ${found}`}
  </p>`;
}

/** That a run has several workers, and where they are or were when it was last started. */
function workersWords({ settings: { workers }, engine }: JobDetail): string {
  if (typeof workers !== 'number' || workers === 1) return '';
  const nodes = Object.keys(engine?.nodes ?? {}).length;
  const places: Record<string, string> = {
    local: ' on this machine',
    cluster: ` on a cluster (${nodes} ${nodes === 1 ? 'node' : 'nodes'})`,
  };
  return ` · ${workers} workers${places[engine?.name ?? ''] ?? ''}`;
}

/** A note when the chart shows only some of the steps. */
function thinned({ series: { steps } }: Run): TemplateResult | typeof nothing {
  const last = steps.at(-1) ?? 0;
  // Step 0 has an evaluation alone.
  const first = steps[0] === 0 ? 1 : 0;
  const shown = steps.length - first;
  return last <= shown + (steps[first] ?? 0)
    ? nothing
    : html`<p class="note tabular">Showing ${formatCount(shown)} of ${formatCount(last)} steps.</p>`;
}
