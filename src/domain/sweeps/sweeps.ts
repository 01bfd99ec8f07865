import { AppError, asAppError, type FieldIssue } from '../../errors.ts';
import { refusal } from '../../faults.ts';
import type { Description } from '../../trainer/protocol.ts';
import type { Bin } from '../bin/bin.ts';
import { numberOf } from '../bin/number-of.ts';
import type { Frame } from '../events/frame-log.ts';
import { jobName } from '../job-record/job.ts';
import { openTrials } from './next-step.ts';
import { type Sweep, sweepName } from './sweep.ts';
import { sweepFaults } from './sweep-faults.ts';
import { createSweepProgress, type SweepProgressOptions } from './sweep-progress.ts';
import { createSweepRecords, type SweepRecordsOptions } from './sweep-records.ts';
import type { SweepRequest } from './sweep-request.ts';
import { createTrials } from './trials.ts';

/** Searches for good settings: lists of jobs that vary the settings of one request, proposed one by one. */
export interface Sweeps {
  /** @throws AppError `invalid` or `not_found` with every error. */
  start(request: SweepRequest): Promise<Sweep>;
  /** Every error for which a start would reject a request, as far as the request can be read. */
  faults(fields: Partial<SweepRequest>, refused: ReadonlySet<string>): Promise<readonly FieldIssue[]>;
  /** Newest first. */
  list(): Sweep[];
  /** @throws AppError `not_found`. */
  get(id: number): Sweep;
  /** Proposes no more trials, and stops those that run, with checkpoints. @throws AppError `conflict` if it has ended. */
  stop(id: number): Promise<Sweep>;
  /**
   * Deletes a sweep with the jobs of its trials; their models are kept.
   * @returns its ID in the bin, if it is kept. @throws AppError `conflict` while it, or one of these jobs, runs.
   */
  remove(id: number, permanently?: boolean): Promise<string | null>;
  /** Takes note of a frame that was published. */
  take(frame: Frame): void;
  /** Goes on with the sweeps that were running, and follows frames from now on. */
  recover(): void;
  /** Proposes no more trials; those that run go on. */
  close(): Promise<void>;
}

export interface SweepsOptions extends SweepRecordsOptions, SweepProgressOptions {
  readonly bin: Bin;
  readonly describe: () => Promise<Description>;
}

const endedStates: readonly string[] = ['completed', 'failed', 'stopped', 'interrupted', 'deleted'];

export function createSweeps(options: SweepsOptions): Sweeps {
  const { jobs, logger } = options;
  const records = createSweepRecords(options);
  const { store, get, isRunning, publish, end } = records;
  const trials = createTrials({ store, jobs, logger });
  const closing = new AbortController();
  const { advance, consider } = createSweepProgress(options, records, trials, closing.signal);
  let isFollowing = false;
  /** The work on each sweep, one thing after another. */
  const work = new Map<number, Promise<void>>();

  /** Queues work on a sweep. */
  function enqueue(id: number, step: () => Promise<void> | void): void {
    const before = work.get(id) ?? Promise.resolve();
    const next = before.then(async () => {
      if (closing.signal.aborted || !isRunning(id)) return;
      try {
        await step();
      } catch (error) {
        if (closing.signal.aborted || !isRunning(id)) return;
        const { message } = asAppError(error);
        logger.warn({ sweep: sweepName(id), error: message }, 'A sweep failed');
        end(id, 'failed', message);
        await trials.stop(get(id));
      }
    });
    work.set(id, next);
    void next.finally(() => {
      if (work.get(id) === next) work.delete(id);
    });
  }

  async function advanceAfter(id: number, jobId: number): Promise<void> {
    if (store.sweeps.trialOf(jobId)?.sweepId === id) publish(id);
    await advance(id);
  }

  options.bin.restores('sweep', {
    restored({ ref }, emit) {
      const id = numberOf(ref);
      for (const { job } of records.get(id).trialsDone) if (job !== null) jobs.restored(job.id, emit);
      records.restored(id, emit);
    },
  });

  const faults: Sweeps['faults'] = (fields, refused) => sweepFaults(fields, refused, options);

  return {
    faults,
    async start(request) {
      const issues = await faults(request, new Set());
      if (issues.length > 0) throw refusal(issues);
      const id = records.add(request);
      enqueue(id, () => advance(id));
      return get(id);
    },
    list: records.list,
    get,
    async stop(id) {
      const { name, state } = get(id);
      if (state !== 'running')
        throw new AppError('conflict', `${name} is ${state}, so there is nothing to stop.`);
      end(id, 'stopped');
      await trials.stop(get(id));
      return get(id);
    },
    async remove(id, permanently) {
      const sweep = get(id);
      const { name, state, trialsDone } = sweep;
      if (state === 'running')
        throw new AppError('conflict', `${name} is running. Stop it before deleting it.`);
      await work.get(id);
      const [busy] = openTrials({ trialsDone });
      if (busy !== undefined) {
        throw new AppError(
          'conflict',
          `${jobName(busy.row.jobId)} of ${name} is ${busy.state}. Stop it before deleting the sweep.`,
        );
      }
      const ids = trialsDone.flatMap(({ job }) => (job === null ? [] : [job.id]));
      return jobs.removeWith(ids, records.deletion(sweep), permanently);
    },
    take(frame) {
      if (!isFollowing) return;
      const jobId = Number(/^train_(\d+)$/.exec(String(frame.job_id))?.[1]);
      if (frame.type === 'metrics' && frame.kind === 'eval') {
        const trial = store.sweeps.trialOf(jobId);
        if (trial !== null) enqueue(trial.sweepId, () => consider(trial.sweepId, jobId));
      } else if (frame.type === 'status' && endedStates.includes(String(frame.state))) {
        for (const id of records.running()) enqueue(id, () => advanceAfter(id, jobId));
      }
    },
    recover() {
      isFollowing = true;
      for (const id of records.running()) enqueue(id, () => advance(id));
    },
    async close() {
      closing.abort();
      await Promise.all(work.values());
    },
  };
}
