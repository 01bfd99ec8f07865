import { isAbsolute } from 'node:path';
import { activeStates, unfinishedStates } from '../../contract/jobs.ts';
import { asAppError } from '../../errors.ts';
import type { Launcher } from '../../trainer/launcher.ts';
import type { JobSpec } from '../../trainer/protocol.ts';
import type { Trainer } from '../../trainer/supervisor.ts';
import { type Job, jobName } from '../job-record/job.ts';
import { type Held, keepHeld, pickDevices, readHeld, type Share } from './devices.ts';
import { createFollower, type FollowerOptions } from './follower.ts';
import type { JobRecords } from './job-records.ts';
import { outcomeOf, type RunEnd } from './run-outcome.ts';

export interface JobRunsOptions extends FollowerOptions {
  readonly launcher: Launcher;
  /** How runs share the machine. */
  readonly share: () => Promise<Share>;
  /** Whether runs with several workers train on a cluster. */
  readonly cluster: boolean;
  /** Called with the jobs that use the machine, when one starts or stops doing so. */
  readonly onActive: (ids: readonly number[]) => void;
}

/** A job that is being followed: its process, if it still exists, and the end of following. */
export interface Run {
  readonly trainer: Trainer | null;
  readonly followed: Promise<void>;
}

/** The runs of jobs: their processes, from start to stored outcome. */
export interface JobRuns {
  /**
   * Starts the prepared jobs in the queue for which there are devices. First come, first served: a job that needs more
   * than are free is waited for.
   */
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

/** The number of processes of a run. */
const workersOf = ({ settings }: JobSpec): number => (settings as { readonly workers?: number }).workers ?? 1;

/** @param folder returns the folder of a job. */
export function createJobRuns(
  options: JobRunsOptions,
  records: JobRecords,
  folder: (id: number) => string,
): JobRuns {
  const { store, launcher, logger } = options;
  const closing = new AbortController();
  const running = new Map<number, Run>();
  /** What jobs hold that are being started. */
  const starting = new Map<number, Held>();
  const launches = new Set<Promise<void>>();
  const follow = createFollower(options, records, folder);

  function fail(id: number, end: RunEnd): Job {
    const job = records.get(id);
    if (!unfinishedStates.includes(job.state)) return job;
    const { state, change } = outcomeOf(end, { stopRequested: job.stopRequested, stalledAfterMs: null });
    return records.end(id, state, change);
  }

  async function launch(id: number, held: Held, share: Share): Promise<void> {
    const { spec } = records.move(id, 'starting', { startedAt: new Date().toISOString() });
    starting.set(id, held);
    let trainer: Trainer;
    try {
      await keepHeld(folder(id), held);
      trainer = await launcher.launch(folder(id), mayDownload(spec as JobSpec), share.environment(held));
    } catch (error) {
      fail(id, { kind: 'not_started', reason: (error as Error).message });
      return;
    } finally {
      starting.delete(id);
    }
    store.jobs.update(id, { pid: trainer.identity.pid, pidStarted: trainer.identity.started });
    watch(id, trainer);
  }

  async function launchNext(): Promise<void> {
    const share = await options.share();
    while (!closing.signal.aborted) {
      const next = store.jobs.inStates(['queued']).find(({ spec }) => spec !== null);
      if (next === undefined) return;
      const others = store.jobs.inStates(activeStates).map(({ id }) => {
        const held = starting.get(id);
        return held === undefined ? readHeld(folder(id)) : held;
      });
      const workers = workersOf(next.spec as JobSpec);
      const held = pickDevices(share, others, workers, options.cluster && workers > 1);
      if (held === undefined) return;
      const launched = launch(next.id, held, share);
      launches.add(launched);
      await launched.finally(() => launches.delete(launched));
    }
  }

  function watch(id: number, trainer: Trainer | null): Run {
    const followed = follow(id, trainer, closing.signal)
      .catch((error) => {
        const reason = asAppError(error).message;
        logger.warn({ job: jobName(id), error: reason }, 'Following a job failed');
        fail(id, { kind: 'not_followed', reason });
      })
      .finally(() => {
        running.delete(id);
        options.onActive([...running.keys()]);
        return launchNext();
      });
    const run = { trainer, followed };
    running.set(id, run);
    options.onActive([...running.keys()]);
    return run;
  }

  return {
    launchNext,
    watch,
    of: (id) => running.get(id),
    fail,
    async close() {
      closing.abort();
      // A fork whose service has ended does not begin.
      await Promise.all(launches);
      await Promise.all([...running.values()].map(({ followed }) => followed));
    },
  };
}
