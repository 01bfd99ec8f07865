import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { JobDetail } from '../../api/types.ts';
import { ChartGroup } from '../../charts/chart-group.ts';
import { LightElement } from '../../elements/light-element.ts';
import { empty, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { saveSettings } from '../../settings/settings-file.ts';
import { settingsTable } from '../../settings/settings-table.ts';
import { choices, datasets, evaluations, jobs, models, router, runOf } from '../../state/app.ts';
import { endNotices } from '../../state/end-notices.ts';
import { Reread } from '../../state/remote.ts';
import { chartOptions } from '../../state/runs/chart-options.ts';
import { paced } from '../../state/runs/pace.ts';
import type { Run } from '../../state/runs/run.ts';
import { Watch } from '../../state/store.ts';
import { runData } from '../../views/runs/run-data.ts';
import { sectionTabs } from '../../views/tabs/section-tabs.ts';
import { chartsCard } from './charts-card.ts';
import { logView } from './log-view.ts';
import { type PageOfRun, RunActions } from './run-actions.ts';
import { runEvents } from './run-events.ts';
import { runHead } from './run-head.ts';
import { type LogView, RunLog } from './run-log.ts';
import { runOverview } from './run-overview.ts';
import { runSamples } from './run-samples.ts';

const views = ['Overview', 'Charts', 'Samples', 'Events', 'Log', 'Settings'] as const;
type View = (typeof views)[number];

/** One run: its progress, charts, samples, events, log, settings and actions. */
@customElement('hone-run')
export class RunPage extends LightElement implements LogView, PageOfRun {
  @property() jobId = '';
  private readonly _actions = new RunActions(this);
  private readonly _log = new RunLog(this);
  private _group = new ChartGroup();
  private _followed = '';
  private _unfollow: (() => void) | null = null;
  private readonly _pace = paced(() => this.requestUpdate());

  constructor() {
    super();
    new Watch(this, choices, endNotices, jobs, models, chartOptions);
    new Reread(this, datasets, evaluations);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._pace.cancel();
    this._unfollow?.();
    this._followed = '';
  }

  get run(): Run {
    return runOf(this.jobId);
  }

  /** Whether the log is shown. */
  get showsLog(): boolean {
    return this._view === 'Log';
  }

  private get _view(): View {
    const asked = router.value.query.get('view');
    return views.find((view) => view.toLowerCase() === asked) ?? 'Overview';
  }

  protected override willUpdate(): void {
    if (this._followed === this.jobId || !this.isConnected) return;
    this._unfollow?.();
    this._followed = this.jobId;
    this._group = new ChartGroup();
    const unfollowRun = this.run.subscribe(() => this._pace.ask());
    const unfollowRoute = router.subscribe(() => this.requestUpdate());
    this._unfollow = () => {
      unfollowRun();
      unfollowRoute();
    };
  }

  protected override render(): TemplateResult {
    const { job, error, gone } = this.run.value;
    // Another tab may have deleted it; one that is being deleted here is about to be left.
    const isLeaving = this._actions.isBusy;
    if (job === null || (error?.status === 404 && !isLeaving)) {
      return html`<div class="page">
        ${sectionTabs('Training', '/training/runs', true)}
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
      ${sectionTabs('Training', '/training/runs', true)}
      ${runHead(job, this.run, this._actions.buttons(job))}
      <nav class="views" aria-label="Views of this run">
        ${views.map(
          (view) => html`<a
            href="/training/${job.job_id}?view=${view.toLowerCase()}"
            aria-current=${view === this._view ? 'true' : nothing}
            >${view}</a
          >`,
        )}
      </nav>
      ${this._content(job)} ${this._actions.dialogs(job)}
    </div>`;
  }

  private _content(job: JobDetail): TemplateResult {
    this._group.title = job.display_name;
    switch (this._view) {
      case 'Overview':
        return runOverview(job, this.run, this._group);
      case 'Charts':
        return chartsCard(job, this.run, this._group);
      case 'Samples':
        return html`<section class="card" aria-label="Samples">${runSamples(this.run)}</section>`;
      case 'Events':
        return html`<section class="card" aria-label="Events">${runEvents(this.run.events, job)}</section>`;
      case 'Log':
        return logView(this._log.text);
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

declare global {
  interface HTMLElementTagNameMap {
    'hone-run': RunPage;
  }
}
