import { isAbsolute } from 'node:path';
import { activeStates, unfinishedStates } from '../../contract/jobs.ts';
import { asAppError } from '../../errors.ts';
import type { Launcher } from '../../trainer/launcher.ts';
import type { JobSpec } from '../../trainer/protocol.ts';
import type { Trainer } from '../../trainer/supervisor.ts';
import { type Job, jobName } from '../job-record/job.ts';
import { createFollower, type FollowerOptions } from './follower.ts';
import type { JobRecords } from './job-records.ts';
import { outcomeOf, type RunEnd } from './run-outcome.ts';

export interface JobRunsOptions extends FollowerOptions {
  readonly launcher: Launcher;
  /** Called when a training starts or stops using the machine. */
  readonly onActive: (active: boolean) => void;
}

/** A job that is being followed: its process, if it still exists, and the end of following. */
export interface Run {
  readonly trainer: Trainer | null;
  readonly followed: Promise<void>;
}

/** The runs of jobs: their processes, from start to stored outcome. */
export interface JobRuns {
  /** Starts the trainer of a queued job and follows it. */
  launch(id: number): Promise<Job>;
  /** Starts the first prepared job in the queue if nothing is running. */
  launchNext(): Promise<void>;
  /** Follows a trainer found after a restart, or stores the end of a job whose trainer is gone (null). */
  watch(id: number, trainer: Trainer | null): Run;
  /** The run of a job that is currently followed. */
  of(id: number): Run | undefined;
  /** Stores the outcome of a run whose trainer could not report it, unless the job has already ended. */
  fail(id: number, end: RunEnd): Job;
  /** Stops following; trainers keep running. */
  close(): Promise<void>;
}

/** Whether a job's model, or its reward model, is on the hub. */
function mayDownload({ model, settings }: JobSpec): boolean {
  const { reward_model: reward } = settings;
  return model.path === null || (typeof reward === 'string' && !isAbsolute(reward));
}

/** @param folder returns the folder of a job. */
export function createJobRuns(
  options: JobRunsOptions,
  records: JobRecords,
  folder: (id: number) => string,
): JobRuns {
  const { store, launcher, logger } = options;
  const closing = new AbortController();
  const running = new Map<number, Run>();
  const follow = createFollower(options, records, folder);

  function fail(id: number, end: RunEnd): Job {
    const job = records.get(id);
    if (!unfinishedStates.includes(job.state)) return job;
    const { state, change } = outcomeOf(end, { stopRequested: job.stopRequested, stalledAfterMs: null });
    return records.end(id, state, change);
  }

  async function launch(id: number): Promise<Job> {
    const { spec } = records.move(id, 'starting', { startedAt: new Date().toISOString() });
    let trainer: Trainer;
    try {
      trainer = await launcher.launch(folder(id), mayDownload(spec as JobSpec));
    } catch (error) {
      return fail(id, { kind: 'not_started', reason: (error as Error).message });
    }
    store.jobs.update(id, { pid: trainer.identity.pid, pidStarted: trainer.identity.started });
    watch(id, trainer);
    return records.get(id);
  }

  async function launchNext(): Promise<void> {
    if (closing.signal.aborted || store.jobs.inStates(activeStates).length > 0) return;
    const next = store.jobs.inStates(['queued']).find(({ spec }) => spec !== null);
    if (next !== undefined) await launch(next.id);
  }

  function watch(id: number, trainer: Trainer | null): Run {
    options.onActive(true);
    const followed = follow(id, trainer, closing.signal)
      .catch((error) => {
        const reason = asAppError(error).message;
        logger.warn({ job: jobName(id), error: reason }, 'Following a job failed');
        fail(id, { kind: 'not_followed', reason });
      })
      .finally(() => {
        running.delete(id);
        if (running.size === 0) options.onActive(false);
        return launchNext();
      });
    const run = { trainer, followed };
    running.set(id, run);
    return run;
  }

  return {
    launch,
    launchNext,
    watch,
    of: (id) => running.get(id),
    fail,
    async close() {
      closing.abort();
      await Promise.all([...running.values()].map(({ followed }) => followed));
    },
  };
}
