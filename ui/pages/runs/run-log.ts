import type { ReactiveController, ReactiveElement } from 'lit';
import { withoutProgressBars } from '../../../src/contract/log-text.ts';
import { service } from '../../api/service.ts';
import { asServiceError } from '../../state/remote.ts';
import { isActive } from '../../state/runs/job-words.ts';
import type { Run } from '../../state/runs/run.ts';

const logBytes = 65_536;
const logEveryMs = 2_000;

/** What shows the log of a run. */
export interface LogView extends ReactiveElement {
  readonly jobId: string;
  readonly run: Run;
  readonly showsLog: boolean;
}

/** The end of a run's log while it is shown, read again as long as the run is active. */
export class RunLog implements ReactiveController {
  readonly #view: LogView;
  #timer: ReturnType<typeof setInterval> | undefined;
  /** The run that it is of. */
  #jobId = '';
  /** `null` until it is read. */
  text: string | null = null;

  constructor(view: LogView) {
    this.#view = view;
    view.addController(this);
  }

  hostConnected(): void {
    this.#timer = setInterval(() => {
      const { showsLog, run } = this.#view;
      if (showsLog && isActive(run.value.job?.state ?? '')) void this.#read();
    }, logEveryMs);
  }

  hostDisconnected(): void {
    clearInterval(this.#timer);
    this.#jobId = '';
  }

  hostUpdate(): void {
    const { jobId } = this.#view;
    if (jobId === this.#jobId) return;
    this.#jobId = jobId;
    this.text = null;
  }

  hostUpdated(): void {
    if (this.#view.showsLog && this.text === null) void this.#read();
  }

  async #read(): Promise<void> {
    const view = this.#view;
    const { jobId } = view;
    if (this.text === null) {
      this.text = '';
      view.requestUpdate();
    }
    const log = await service.log(jobId, logBytes).catch((error) => asServiceError(error).message);
    const text = withoutProgressBars(log);
    if (jobId !== view.jobId || text === this.text) return;
    const box = view.querySelector('.log-view');
    const atEnd = box === null || box.scrollTop + box.clientHeight >= box.scrollHeight - 8;
    this.text = text;
    view.requestUpdate();
    await view.updateComplete;
    if (atEnd) view.querySelector('.log-view')?.scrollTo({ top: 1e9 });
  }
}
