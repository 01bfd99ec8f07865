import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { metricName } from '../../../src/contract/training/metric-names.ts';
import { service, type TrainingBody } from '../../api/service.ts';
import type { Sweep } from '../../api/types.ts';
import {
  formatCount,
  formatDuration,
  formatMoment,
  formatNumber,
  spanSeconds,
} from '../../elements/format.ts';
import {
  empty,
  errorPanel,
  figure,
  modelName,
  nameText,
  progressBar,
  serviceErrorPanel,
  skeleton,
} from '../../elements/parts.ts';
import { fillDraft } from '../../settings/draft-request.ts';
import { settingLabel } from '../../settings/setting-values.ts';
import { settingsTable } from '../../settings/settings-table.ts';
import { Action } from '../../state/action.ts';
import { choices, latest, router, sweeps, toasts } from '../../state/app.ts';
import { taskName } from '../../state/choice-words.ts';
import { Remote } from '../../state/remote.ts';
import { paced } from '../../state/runs/pace.ts';
import { Watch } from '../../state/store.ts';
import { tellDeletion } from '../../state/tell-deletion.ts';
import { deletion } from '../../views/deletion.ts';
import { directionWords, sweepBadge, sweepPercent } from '../../views/sweep-words.ts';
import { sectionTabs } from '../../views/tabs/section-tabs.ts';
import { valueText } from './axes.ts';
import { importanceBars } from './importance.ts';
import './parallel-plot.ts';
import { LightElement } from '../../elements/light-element.ts';
import { trialsTable } from './trials-table.ts';

/** Reading a sweep reads the evaluations of all its trials, so not on every frame. */
const refreshMs = 1_000;

/** One sweep: its progress, its best trial, and all trials as a plot and a table. */
@customElement('hone-sweep')
export class SweepPage extends LightElement {
  @property() sweepId = '';
  @state() private _shown: number | null = null;
  private readonly _action = new Action(this);
  @state() private _isDeleting = false;
  private _read = '';
  private readonly _sweep = new Remote<Sweep>(() => service.sweep(this.sweepId));
  private readonly _pace = paced(() => void this._sweep.refresh(), refreshMs);
  private _unfollow: (() => void) | null = null;

  constructor() {
    super();
    new Watch(this, choices, this._sweep);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this._unfollow = latest.subscribe(() => this._follow());
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._unfollow?.();
    this._pace.cancel();
    this._read = '';
  }

  protected override willUpdate(): void {
    if (this._read === this.sweepId || !this.isConnected) return;
    this._read = this.sweepId;
    this._shown = null;
    this._sweep.set({ value: null, error: null, loading: false });
    void this._sweep.refresh();
  }

  /** Reads the sweep again when a frame tells of it or of one of its trials. */
  private _follow(): void {
    const frame = latest.value;
    if (frame === null) return;
    const jobId = 'job_id' in frame ? frame.job_id : undefined;
    const isOwn =
      frame.type === 'snapshot' ||
      (frame.type === 'sweep' && frame.sweep_id === this.sweepId) ||
      (jobId !== undefined && this._sweep.value.value?.trials_started.some(({ job_id }) => job_id === jobId));
    if (isOwn && !this._isDeleting) this._pace.ask();
  }

  protected override render(): TemplateResult {
    const { value: sweep, error } = this._sweep.value;
    if (sweep === null || (error?.status === 404 && !this._action.busy)) {
      return html`<div class="page">
        ${sectionTabs('Training', '/training/sweeps', true)}
        <h1>${this.sweepId}</h1>
        ${
          error === null
            ? html`<section class="card tall">${skeleton(9)}</section>`
            : error.status === 404
              ? html`<section class="card">${empty('Sweep not found', html`<a href="/training/sweeps">All sweeps</a>`)}</section>`
              : serviceErrorPanel('Could not load the sweep', error)
        }
      </div>`;
    }
    return html`<div class="page">
      ${sectionTabs('Training', '/training/sweeps', true)}
      <header class="page-head">
        <div>
          <p class="eyebrow tabular">${sweep.sweep_id} · ${formatMoment(sweep.created_at)}</p>
          <h1>${modelName(sweep.model_name)}</h1>
          <p class="muted">
            ${taskName(sweep.task)} on ${nameText(sweep.dataset)} · ${metricName(sweep.metric)}, ${directionWords(sweep.direction)}
          </p>
        </div>
        <div class="actions">
          ${sweepBadge(sweep.state)}
          ${
            sweep.state === 'running'
              ? html`<button type="button" class="danger" ?disabled=${this._action.busy} @click=${this._stop}>Stop sweep</button>`
              : html`<button type="button" ?disabled=${this._action.busy} @click=${this._askToDelete}>Delete…</button>`
          }
        </div>
      </header>
      ${sweep.error === null ? nothing : errorPanel({ title: 'The sweep failed', cause: sweep.error })}
      ${this._progress(sweep)}
      ${this._found(sweep)}
      <section class="card" aria-labelledby="trials">
        <h2 id="trials">Trials</h2>
        ${
          sweep.started === 0
            ? empty(
                'No trials yet',
                sweep.state === 'running'
                  ? 'The first one is being proposed.'
                  : 'It ended before its first trial.',
              )
            : trialsTable(sweep, {
                shown: this._shown,
                show: (trial) => this._show(trial),
                resume:
                  sweep.state === 'running' || this._action.busy ? null : (jobId) => void this._resume(jobId),
              })
        }
      </section>
      <section class="card" aria-label="Shared settings">
        <details class="fold bare">
          <summary>Settings that all trials share</summary>
          ${settingsTable(sweep.request, 'Settings that all trials share')}
        </details>
      </section>
      ${this._dialog(sweep)}
    </div>`;
  }

  private _progress(sweep: Sweep): TemplateResult {
    const { trials_started: trials, steps, best } = sweep;
    const culled = trials.filter(({ state }) => state === 'culled').length;
    const saved = steps.planned > 0 ? 1 - steps.made / steps.planned : 0;
    return html`<section class="card" aria-label="Progress">
      <div class="run-progress">
        <div class="row between baseline">
          <p class="run-phase">${sweep.ended} of ${sweep.trials} trials</p>
          <p class="run-percent">${Math.round(sweepPercent(sweep))}<small>%</small></p>
        </div>
        ${progressBar('Progress of the sweep', sweepPercent(sweep))}
      </div>
      <dl class="figures-grid">
        ${figure(`Best ${metricName(sweep.metric).toLowerCase()}`, formatNumber(best?.value), best === null ? null : `trial ${best.number}`)}
        ${figure('Culled', sweep.culling ? formatCount(culled) : 'off')}
        ${figure('Steps', formatCount(steps.made), sweep.culling && sweep.state !== 'running' && saved > 0 ? `${Math.round(100 * saved)}% saved` : null)}
        ${figure('Elapsed', formatDuration(spanSeconds(sweep.created_at, sweep.ended_at)))}
      </dl>
    </section>`;
  }

  /** What the trials show. */
  private _found(sweep: Sweep): TemplateResult | typeof nothing {
    if (sweep.started === 0) return nothing;
    return html`<section class="card" aria-labelledby="plot">
        <h2 id="plot">Settings and results</h2>
        <hone-parallel-plot
          .sweep=${sweep}
          .shown=${this._shown}
          @highlight=${({ detail }: CustomEvent<number | null>) => this._show(detail)}
        ></hone-parallel-plot>
      </section>
      <div class="split">
        ${this._best(sweep)}
        <section class="card" aria-labelledby="importance">
          <h2 id="importance">Importance</h2>
          ${importanceBars(sweep)}
        </section>
      </div>`;
  }

  private _best({ best, best_request: request }: Sweep): TemplateResult {
    return html`<section class="card" aria-labelledby="best">
      <h2 id="best">${best === null ? 'Best trial' : html`Best: trial ${best.number}`}</h2>
      ${
        best === null || request === null
          ? html`<p class="note">Shown when the first trial is completed.</p>`
          : html`${best.display_name === null ? nothing : html`<p class="muted">${nameText(best.display_name)}</p>`}
              <dl class="facts">
                ${Object.entries(best.parameters).map(([name, value]) => figure(settingLabel(name), valueText(value)))}
              </dl>
              <div class="actions">
                <button type="button" class="primary" ?disabled=${this._action.busy} @click=${() => this._train(request)}>
                  Train best trial
                </button>
                <button type="button" @click=${() => this._edit(request)}>Open in the training form</button>
              </div>
              <p class="note">
                A new training with these settings, with all of its steps and with its GGUF files, which trials do not make.
              </p>`
      }
    </section>`;
  }

  private _show(trial: number | null): void {
    this._shown = trial;
  }

  private _edit(request: Readonly<Record<string, unknown>>): void {
    fillDraft(request);
    router.go('/training');
  }

  private async _train(request: Readonly<Record<string, unknown>>): Promise<void> {
    await this._do(async () => {
      const { job_id } = await service.start({ ...(request as unknown as TrainingBody), queue: true });
      router.go(`/training/${job_id}`);
    });
  }

  private async _stop(): Promise<void> {
    await this._do(async () => {
      this._sweep.put(await service.stopSweep(this.sweepId));
    });
  }

  private async _resume(jobId: string): Promise<void> {
    await this._do(async () => {
      await service.resume(jobId, true);
      router.go(`/training/${jobId}`);
    });
  }

  private _askToDelete(): void {
    this._action.clear();
    this._isDeleting = true;
  }

  private _closeDialog(): void {
    this.querySelector('dialog')?.close();
  }

  private async _delete(permanently: boolean): Promise<void> {
    await this._do(async () => {
      const { sweepId } = this;
      const deleted = await service.removeSweep(sweepId, permanently);
      this._closeDialog();
      void sweeps.refresh();
      tellDeletion(deleted, () => {
        void sweeps.refresh();
        router.go(`/training/sweeps/${sweepId}`);
      });
      router.go('/training/sweeps');
    });
  }

  private _dialog({ started }: Sweep): TemplateResult | typeof nothing {
    if (!this._isDeleting) return nothing;
    const content = deletion({
      noun: 'sweep',
      consequence: `${started === 1 ? 'The run of its trial is' : `The runs of its ${formatCount(started)} trials are`} kept in the bin for seven days, with their checkpoints, charts and logs. Trained models are kept.`,
      busy: this._action.busy,
      error: this._action.error,
      remove: (permanently) => this._delete(permanently),
      close: () => this._closeDialog(),
    });
    return html`<hone-dialog
      heading="Delete ${this.sweepId}?"
      .content=${content}
      @dismiss=${() => {
        this._isDeleting = false;
      }}
    ></hone-dialog>`;
  }

  /** Runs one action at a time and shows an error if it fails. */
  private async _do(act: () => Promise<void>): Promise<void> {
    await this._action.run(act);
    if (this._action.error === null || this._isDeleting) return;
    toasts.show(this._action.error.message, 'error');
    void this._sweep.refresh();
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-sweep': SweepPage;
  }
}
