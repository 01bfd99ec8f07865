import { html, nothing, type ReactiveElement, type TemplateResult } from 'lit';
import { service } from '../../api/service.ts';
import type { JobDetail } from '../../api/types.ts';
import { fillFrom } from '../../settings/fill-from.ts';
import { Action } from '../../state/action.ts';
import { currentJobId, forgetRun, isKept, jobs, recallRun, router, toasts } from '../../state/app.ts';
import { isActive, isEnded, isResumable, isStoppable } from '../../state/runs/job-words.ts';
import type { Run } from '../../state/runs/run.ts';
import { tellDeletion } from '../../state/tell-deletion.ts';
import { deletion } from '../../views/deletion.ts';
import '../../views/report-button.ts';
import '../../views/runs/stop-dialog.ts';

/** The page of a run. */
export interface PageOfRun extends ReactiveElement {
  readonly jobId: string;
  readonly run: Run;
}

/** What can be done with a run: its buttons and dialogs. */
export class RunActions {
  readonly #page: PageOfRun;
  readonly #action: Action;
  #dialog: 'stop' | 'delete' | null = null;

  constructor(page: PageOfRun) {
    this.#page = page;
    this.#action = new Action(page);
  }

  /** Whether it may be about to be deleted here. */
  get isBusy(): boolean {
    return this.#action.busy || this.#dialog !== null;
  }

  /** The buttons of what can be done with it now. */
  buttons(job: JobDetail): TemplateResult {
    return html`
      ${
        isActive(job.state)
          ? html`<button
              type="button"
              class="danger"
              ?disabled=${!isStoppable(job.state)}
              @click=${() => (job.state === 'queued' ? this.#unqueue() : this.#open('stop'))}
            >
              ${job.state === 'stopping' ? 'Stopping…' : job.state === 'queued' ? 'Remove from queue' : 'Stop…'}
            </button>`
          : nothing
      }
      ${
        job.state === 'completed' && isKept(job.model_id)
          ? html`<a class="button primary" href="/playground/${job.model_id}">Try the model</a>
              <a class="button" href="/models/${job.model_id}">View model</a>
              <a class="button" href="/models/aliases?model=${job.model_id}">Make it live…</a>`
          : nothing
      }
      ${
        isResumable(job.state)
          ? html`<button type="button" class="primary" ?disabled=${this.#action.busy} @click=${() => this.#resume()}>
              ${job.trained ? 'Export again' : job.last_metric === null ? 'Start again' : 'Resume'}${this.#other ? ' after the running one' : ''}
            </button>`
          : nothing
      }
      ${
        job.state === 'completed' && job.request !== null && isKept(job.model_id)
          ? html`<button type="button" @click=${() => this.#trainOn(job)}>More epochs</button>`
          : nothing
      }
      ${job.request === null ? nothing : html`<button type="button" @click=${() => this.#duplicate(job)}>Duplicate</button>`}
      ${
        job.state !== 'completed' && hasCheckpoint(job, this.#page.run)
          ? html`<a class="button" href="/playground/${job.model_id}">Try a checkpoint</a>`
          : nothing
      }
      ${
        isEnded(job.state)
          ? html`<a class="button" href="/training/compare?run=${job.job_id}">Compare</a>
              <hone-report-button .ids=${[job.job_id]}></hone-report-button>`
          : nothing
      }
      ${
        isEnded(job.state)
          ? html`<button type="button" ?disabled=${this.#action.busy} @click=${() => this.#open('delete')}>Delete…</button>`
          : nothing
      }
    `;
  }

  /** Another run that is running or queued. */
  get #other() {
    return jobs.value.value?.jobs.find((job) => job.job_id !== this.#page.jobId && isActive(job.state));
  }

  /** Opens the training form with the settings of this run. */
  #duplicate({ request, display_name, job_id }: JobDetail): void {
    if (request !== null) fillFrom(request, display_name, `/training/${job_id}`);
    router.go('/training');
  }

  /** Opens the training form to go on from the model of this run, on the same data and with the same settings. */
  #trainOn({ request, display_name, job_id }: JobDetail): void {
    const { merge_adapter: _, ...same } = request ?? {};
    fillFrom({ ...same, model_name: job_id }, display_name, `/training/${job_id}`);
    router.go('/training');
  }

  #open(dialog: 'stop' | 'delete' | null): void {
    this.#action.clear();
    this.#dialog = dialog;
    this.#page.requestUpdate();
  }

  /** The open dialog. */
  dialogs(job: JobDetail): TemplateResult | typeof nothing {
    if (this.#dialog === 'stop') {
      return html`<hone-stop-dialog .jobId=${job.job_id} @dismiss=${() => this.#open(null)}></hone-stop-dialog>`;
    }
    if (this.#dialog === 'delete') {
      const content = deletion({
        noun: 'run',
        consequence: `It is kept in the bin for seven days, with its checkpoints, charts and log. ${job.state === 'completed' ? 'The trained model is kept.' : 'Restore it to resume it.'}`,
        busy: this.#action.busy,
        error: this.#action.error,
        remove: (permanently) => this.#delete(permanently),
        close: () => this.#closeDialog(),
      });
      return html`<hone-dialog
        heading="Delete ${job.display_name} (${job.job_id})?"
        .content=${content}
        @dismiss=${() => this.#open(null)}
      ></hone-dialog>`;
    }
    return nothing;
  }

  #closeDialog(): void {
    this.#page.querySelector('dialog')?.close();
  }

  async #resume(): Promise<void> {
    await this.#do(async () => {
      const { state: begun } = await service.resume(this.#page.jobId, this.#other !== undefined);
      if (begun !== 'queued') currentJobId.set(this.#page.jobId);
      await this.#page.run.load();
    });
  }

  async #unqueue(): Promise<void> {
    await this.#do(async () => {
      await service.stop(this.#page.jobId);
      await this.#page.run.load();
    });
  }

  async #delete(permanently: boolean): Promise<void> {
    await this.#do(async () => {
      const { jobId } = this.#page;
      const deleted = await service.removeJob(jobId, permanently);
      this.#closeDialog();
      forgetRun(jobId, 'deleted');
      tellDeletion(deleted, () => {
        recallRun(jobId);
        router.go(`/training/${jobId}`);
      });
      router.go('/training/runs');
    });
  }

  /** Runs one action at a time and shows an error if it fails. */
  async #do(act: () => Promise<void>): Promise<void> {
    await this.#action.run(act);
    if (this.#action.error === null || this.#dialog === 'delete') return;
    toasts.show(this.#action.error.message, 'error');
    void this.#page.run.load();
  }
}

const hasCheckpoint = ({ checkpoints }: JobDetail, { events }: Run) =>
  checkpoints.length > 0 || events.some((event) => event.type === 'log' && event.kind === 'checkpoint');
