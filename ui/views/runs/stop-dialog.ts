import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import type { Job } from '../../api/types.ts';
import { LightElement } from '../../elements/light-element.ts';
import { serviceErrorPanel } from '../../elements/parts.ts';
import { forgetRun, router, runOf, toasts } from '../../state/app.ts';
import { asServiceError } from '../../state/remote.ts';
import { isActive } from '../../state/runs/job-words.ts';

/** The three choices for a running training: continue, stop and save, or discard. */
@customElement('hone-stop-dialog')
export class StopDialog extends LightElement {
  @property() jobId = '';
  @state() private _doing: 'stop' | 'discard' | null = null;
  @state() private _error: ServiceError | null = null;

  private _close(): void {
    this.querySelector('dialog')?.close();
  }

  private async _act(what: 'stop' | 'discard'): Promise<void> {
    if (this._doing !== null) return;
    this._doing = what;
    this._error = null;
    const { jobId } = this;
    try {
      const { state } = await service.job(jobId);
      if (!isActive(state)) {
        // It ended while the dialog was open: stop nothing and delete nothing.
        toasts.show(`${jobId} had already ended; nothing was stopped.`);
        void runOf(jobId).load();
      } else {
        const ended = await service.stop(jobId, what === 'discard');
        if (what === 'discard') this._discarded(ended);
        else {
          toasts.show(ended.message);
          void runOf(jobId).load();
        }
      }
      this._close();
    } catch (error) {
      this._error = asServiceError(error);
      void runOf(jobId).load();
    } finally {
      this._doing = null;
    }
  }

  /** Keeps a run that completed before it could be stopped. */
  private _discarded({ job_id, state }: Job): void {
    if (state === 'completed') {
      toasts.show(`${job_id} completed before it could be stopped, so it was kept.`);
      void runOf(job_id).load();
      return;
    }
    forgetRun(job_id, 'discarded');
    toasts.show(`${job_id} was stopped and deleted.`);
    router.go('/training/runs');
  }

  protected override render(): TemplateResult {
    const busy = this._doing !== null;
    const content = html`
      ${this._error === null ? nothing : serviceErrorPanel('Could not stop the run', this._error)}
      <div class="choices">
        <button type="button" autofocus @click=${() => this._close()}>
          <b>Continue training</b><span>The run keeps going.</span>
        </button>
        <button type="button" ?disabled=${busy} @click=${() => this._act('stop')}>
          <b>${this._doing === 'stop' ? 'Saving a checkpoint…' : 'Stop and save'}</b>
          <span>Saves a checkpoint. You can resume from this step at any time.</span>
        </button>
        <button type="button" class="danger" ?disabled=${busy} @click=${() => this._act('discard')}>
          <b>${this._doing === 'discard' ? 'Stopping…' : 'Discard'}</b>
          <span>Stops the run and permanently deletes its checkpoints, charts and log.</span>
        </button>
      </div>
    `;
    return html`<hone-dialog heading="Stop ${this.jobId}?" .content=${content}></hone-dialog>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-stop-dialog': StopDialog;
  }
}
