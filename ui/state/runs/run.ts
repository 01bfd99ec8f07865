import type { Event, Frame } from '../../api/frames.ts';
import { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import type { Identity, JobDetail } from '../../api/types.ts';
import { asServiceError } from '../remote.ts';
import { Store } from '../store.ts';
import { isEnded } from './job-words.ts';
import { RunSeries } from './series.ts';

/** Longer histories are downsampled by the service. */
const pointLimit = 20_000;
const eventLimit = 1_000;

export interface RunRecord {
  readonly job: JobDetail | null;
  readonly error: ServiceError | null;
  /** How it was deleted while it was shown. */
  readonly gone?: 'deleted' | 'discarded';
}

/** What a frame says of the expected end; those of earlier releases say nothing. */
const endOf = ({ expected_end: end }: { readonly expected_end?: string | null | undefined }) => ({
  expected_end: end ?? null,
});

/** A run: its record, metrics and events, updated by frames. */
export class Run extends Store<RunRecord> {
  readonly jobId: string;
  readonly series = new RunSeries();
  /** What happened, oldest first. */
  readonly events: Event[] = [];
  #loading: Promise<void> | null = null;
  /** Frames that arrived while the metrics were loading. */
  #waiting: Frame[] | null = null;
  /** The newest request for the record; the answers of earlier ones are dropped. */
  #newest = 0;

  constructor(jobId: string) {
    super({ job: null, error: null });
    this.jobId = jobId;
  }

  /** Loads the run; concurrent calls share one request. */
  load(): Promise<void> {
    if (this.value.gone !== undefined) return Promise.resolve();
    this.#loading ??= this.#load().finally(() => {
      this.#loading = null;
    });
    return this.#loading;
  }

  /** Whether the service said that there is no such run. */
  get isUnknown(): boolean {
    return this.value.job === null && this.value.error?.status === 404;
  }

  async #load(): Promise<void> {
    this.#waiting = [];
    this.#newest += 1;
    try {
      // Asked first: of a run that does not exist, nothing else is asked.
      const job = await service.job(this.jobId);
      const [series, stored] = await Promise.all([
        service.series(this.jobId, pointLimit),
        service.events(this.jobId),
      ]);
      this.series.clear();
      for (const point of series.train) this.series.add(point);
      for (const point of series.eval) this.series.addEval(point);
      this.events.splice(0, this.events.length, ...stored.events);
      this.set({ job, error: null });
    } catch (error) {
      this.#fail(error);
    }
    const waiting = this.#waiting;
    this.#waiting = null;
    for (const frame of waiting ?? []) this.take(frame);
  }

  #fail(error: unknown): void {
    if (this.value.gone === undefined) this.set({ job: this.value.job, error: asServiceError(error) });
  }

  async #refreshJob(): Promise<void> {
    this.#newest += 1;
    const mine = this.#newest;
    try {
      const job = await service.job(this.jobId);
      if (mine === this.#newest && this.value.gone === undefined) this.set({ job, error: null });
    } catch (error) {
      if (mine === this.#newest) this.#fail(error);
    }
  }

  /** Notes that it was deleted; nothing more is asked of the service. */
  forget(how: 'deleted' | 'discarded'): void {
    if (this.value.gone !== undefined) return;
    const message = `It was ${how}.`;
    this.set({ job: this.value.job, error: new ServiceError(404, message, message), gone: how });
  }

  /** Takes over a new name, notes or tags. */
  identify({ display_name, notes, tags }: Identity): void {
    const { job, error } = this.value;
    if (job !== null) this.set({ job: { ...job, display_name, notes, tags }, error });
  }

  /** Applies a frame of this run. */
  take(frame: Frame): void {
    if (this.value.gone !== undefined) return;
    if (this.#waiting !== null) {
      this.#waiting.push(frame);
      return;
    }
    const { job } = this.value;
    switch (frame.type) {
      case 'metrics':
        if (frame.kind === 'eval') {
          this.series.addEval(frame);
          this.#note(frame);
        } else {
          this.series.add(frame);
          if (job !== null && frame.progress !== undefined) {
            this.set({
              job: { ...job, progress: frame.progress, ...endOf(frame), last_metric: { ...frame } },
              error: null,
            });
            return;
          }
        }
        this.touch();
        break;
      case 'status':
      case 'progress': {
        if (frame.type === 'status' && frame.state === 'deleted') {
          this.forget(frame.discarded ? 'discarded' : 'deleted');
          break;
        }
        if (frame.type === 'status') this.#note(frame);
        if (job === null) break;
        const { progress, phase, phase_progress, detail } = frame;
        const state = frame.type === 'status' ? frame.state : job.state;
        this.set({
          job: { ...job, state, progress, phase, phase_progress, detail, ...endOf(frame) },
          error: null,
        });
        // A run that is being discarded is about to be deleted.
        const isDiscarded = frame.type === 'status' && frame.discarded === true;
        if (!isDiscarded && (isEnded(state) || state !== job.state)) void this.#refreshJob();
        break;
      }
      case 'log':
      case 'export':
        if (frame.type === 'export' && frame.model_id !== undefined) break;
        if (!this.#note(frame)) break;
        if (frame.type === 'log' && frame.code === 'no_gguf' && job !== null)
          this.set({ job: { ...job, quantizations: [] }, error: null });
        if (frame.type === 'log' && frame.kind === 'engine' && frame.name !== undefined && job !== null)
          this.set({
            job: { ...job, engine: { name: frame.name, nodes: frame.nodes ?? null } },
            error: null,
          });
        this.touch();
        break;
    }
  }

  /** Adds an event, unless it is known. @returns whether it is new. */
  #note(event: Event): boolean {
    if (this.events.some(({ seq }) => seq === event.seq)) return false;
    this.events.push(event);
    if (this.events.length > eventLimit) this.events.splice(0, this.events.length - eventLimit);
    return true;
  }
}
