import { isAbsolute } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { activeStates, type JobState, unfinishedStates } from '../../../contract/jobs.ts';
import type { JobRow } from '../../../db/tables/jobs.ts';
import { asAppError } from '../../../errors.ts';
import { isFromHub } from '../../../trainer/merged-folder.ts';
import type { Launcher } from '../../../trainer/processes/launcher.ts';
import type { Trainer } from '../../../trainer/processes/supervisor.ts';
import type { JobSpec } from '../../../trainer/protocol.ts';
import { type Job, jobName } from '../../job-record/job.ts';
import { startClock } from '../../job-record/timing/run-clock.ts';
import type { JobRecords } from '../job-records.ts';
import { type Held, keepHeld, pickDevices, readHeld, type Share } from './devices.ts';
import { createFollower, type FollowerOptions } from './follower.ts';
import { planRun, type TimeSources } from './plan-run.ts';
import { outcomeOf, type RunEnd } from './run-outcome.ts';

export interface JobRunsOptions extends FollowerOptions {
  readonly launcher: Launcher;
  /** What tells how long a run will take. */
  readonly times: TimeSources;
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
  /** Whether a job with so many workers would start now: there are devices for it and for all that wait. */
  hasRoom(share: Share, workers: number): boolean;
  /** Follows a trainer found after a restart, or stores the end of a job whose trainer is gone (null). */
  watch(id: number, trainer: Trainer | null): Run;
  /** Resolves when the process of a job that is being started is there, or could not be started. */
  launched(id: number): Promise<void>;
  /** The run of a job that is currently followed. */
  of(id: number): Run | undefined;
  /** Stores the outcome of a run whose trainer could not report it, unless the job has already ended. */
  fail(id: number, end: RunEnd): Job;
  /** Stops following; trainers keep running. */
  close(): Promise<void>;
}

/** The plan of a run's time may ask a hub for the model's size: no run is kept waiting for that. */
const planWaitMs = 2_000;

/** Whether a job's model, its reward model or its teacher is on the hub. */
function mayDownload({ model, settings, teacher }: JobSpec): boolean {
  const { reward_model: reward } = settings;
  return isFromHub(model) || teacher?.path === null || (typeof reward === 'string' && !isAbsolute(reward));
}

/** The number of processes of a run. */
export const workersOf = ({ settings }: JobSpec): number =>
  (settings as { readonly workers?: number }).workers ?? 1;

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
  const launches = new Map<number, Promise<void>>();
  const follow = createFollower(options, records, folder);

  function fail(id: number, end: RunEnd): Job {
    const job = records.get(id);
    if (!unfinishedStates.includes(job.state)) return job;
    const { state, change } = outcomeOf(end, { stopRequested: job.stopRequested, stalledAfterMs: null });
    return records.end(id, state, change);
  }

  async function launch(id: number, held: Held, share: Share): Promise<void> {
    const startedAt = new Date();
    const job = records.move(id, 'starting', { startedAt: startedAt.toISOString(), clock: null });
    // Without a plan, its time left is not told.
    const planned = planRun(job, options.times).catch(() => null);
    starting.set(id, held);
    let trainer: Trainer;
    try {
      await keepHeld(folder(id), held);
      trainer = await launcher.launch(folder(id), mayDownload(job.spec as JobSpec), share.environment(held));
    } catch (error) {
      fail(id, { kind: 'not_started', reason: (error as Error).message });
      return;
    } finally {
      starting.delete(id);
    }
    store.jobs.update(id, { pid: trainer.identity.pid, pidStarted: trainer.identity.started });
    const plan = await Promise.race([planned, sleep(planWaitMs, null, { ref: false })]);
    if (plan !== null) store.jobs.update(id, { clock: startClock(plan, startedAt.getTime() / 1000) });
    watch(id, trainer);
  }

  /** What the current runs hold. */
  const heldNow = (): Held[] =>
    store.jobs.inStates(activeStates).map(({ id }) => {
      const held = starting.get(id);
      return held === undefined ? readHeld(folder(id)) : held;
    });

  const pick = (share: Share, others: readonly Held[], workers: number) =>
    pickDevices(share, others, workers, options.cluster && workers > 1);

  /** The prepared jobs that wait, in the order in which they came: a resumed one has a low number, and came late. */
  function queue(): JobRow[] {
    const since = (id: number) => store.events.before(id, 'status', Number.MAX_SAFE_INTEGER, 1)[0]?.seq ?? 0;
    return store.jobs
      .inStates(['queued' satisfies JobState])
      .filter(({ spec }) => spec !== null)
      .map((job) => ({ job, since: since(job.id) }))
      .sort((one, other) => one.since - other.since)
      .map(({ job }) => job);
  }

  async function launchNext(): Promise<void> {
    const share = await options.share();
    while (!closing.signal.aborted) {
      const [next] = queue();
      if (next === undefined) return;
      const held = pick(share, heldNow(), workersOf(next.spec as JobSpec));
      if (held === undefined) return;
      const launched = launch(next.id, held, share);
      launches.set(next.id, launched);
      await launched.finally(() => launches.delete(next.id));
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
    hasRoom(share, workers) {
      const taken = heldNow();
      for (const wanted of [...queue().map(({ spec }) => workersOf(spec as JobSpec)), workers]) {
        const held = pick(share, taken, wanted);
        if (held === undefined) return false;
        taken.push(held);
      }
      return true;
    },
    watch,
    of: (id) => running.get(id),
    launched: async (id) => launches.get(id),
    fail,
    async close() {
      closing.abort();
      // A fork whose service has ended does not begin.
      await Promise.all(launches.values());
      await Promise.all([...running.values()].map(({ followed }) => followed));
    },
  };
}
