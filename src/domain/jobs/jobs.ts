import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type JobState, resumableStates, unfinishedStates } from '../../contract/jobs.ts';
import type { Store } from '../../db/store.ts';
import type { JobRow } from '../../db/tables/jobs.ts';
import { AppError, type FieldIssue } from '../../errors.ts';
import type { Launcher } from '../../trainer/processes/launcher.ts';
import { endsWithin, findTrainer, killTrainer, stopTrainer } from '../../trainer/processes/supervisor.ts';
import type { JobSpec } from '../../trainer/protocol.ts';
import type { FrameLog } from '../events/frame-log.ts';
import { type Job, jobName } from '../job-record/job.ts';
import { newName } from '../job-record/new-name.ts';
import type { Models } from '../models/models.ts';
import { writeSpec } from '../training/job-spec.ts';
import { findFaults, type JudgedRequest, type Judges, judgeRequest } from '../training/judge-request.ts';
import type { ReadRequest, TrainingRequest } from '../training/training-request.ts';
import { writeAsked } from './asked-file.ts';
import { writeIdentity } from './identity-file.ts';
import { createJobHistory, type JobHistory } from './job-history.ts';
import { createJobIdentity, type IdentifyJob } from './job-identity.ts';
import { statusPayload } from './job-journal.ts';
import { createJobRecords, type JobReader } from './job-records.ts';
import type { Share } from './run/devices.ts';
import type { Waits } from './run/follower.ts';
import { recoverRuns } from './run/job-recovery.ts';
import { createJobRuns, type JobRunsOptions, workersOf } from './run/job-runs.ts';
import type { TimeSources } from './run/plan-run.ts';
import { whyItWaits } from './why-it-waits.ts';

export interface JobsOptions {
  readonly store: Store;
  readonly frames: FrameLog;
  readonly models: Models;
  readonly launcher: Launcher;
  /** What tells how long a run will take. */
  readonly times: TimeSources;
  readonly judges: Judges;
  /** Checks that a request will fit on the disk. @throws AppError `disk_full`. */
  readonly checkDisk: (judged: JudgedRequest) => Promise<void>;
  /** The paths of job folders and TensorBoard logs, and the tools for trainers. */
  readonly places: {
    readonly jobsDir: string;
    readonly logsDir: string | null;
    readonly tools: JobSpec['tools'];
  };
  /** Releases a job's files before it is deleted. @throws AppError `conflict` while they are in use. */
  readonly release: (job: JobRow) => Promise<void>;
  readonly waits: Waits;
  /** The most jobs that wait in the queue. */
  readonly queueLimit: number;
  /** How runs share the machine, its usage for the trace of a job's step, and who is told which jobs use it. */
  readonly machine: Pick<JobRunsOptions, 'share' | 'cluster' | 'takeTrace' | 'onActive'>;
  readonly logger: { warn(fields: object, text: string): void; info(fields: object, text: string): void };
}

/** A job that was started, with its warnings. */
export interface Started {
  readonly job: Job;
  readonly warnings: readonly string[];
}

/** The life cycle of training jobs. */
export interface Jobs extends JobReader, JobHistory {
  /**
   * Starts a job; with `queue` it waits while there are no devices for it.
   * @param also runs in the transaction that stores the job.
   * @throws AppError `invalid`, `not_found`, `disk_full`, or `conflict` if it would have to wait and `queue` is not set,
   * or the queue is full.
   */
  start(request: TrainingRequest, also?: (job: Pick<Job, 'id' | 'modelId'>) => void): Promise<Started>;
  /** Every error for which a start would reject a request, as far as the request can be read. */
  faults(request: ReadRequest): Promise<readonly FieldIssue[]>;
  /**
   * Stops a job (by default the running one) with a checkpoint; a queued job is removed from the queue. Resolves when
   * the job has ended. @throws AppError `conflict` when there is nothing to stop.
   */
  stop(id?: number): Promise<Job>;
  /**
   * Ends a job without saving anything, then deletes it with its checkpoints; if it completed in the meantime, it is
   * kept with its model. Resolves with the ended job. @throws AppError `conflict` as `stop` does.
   */
  discard(id: number): Promise<Job>;
  /**
   * Resumes a job; with `queue` it waits while there are no devices for it.
   * @throws AppError `conflict` when the job cannot be resumed now.
   */
  resume(id: number, options?: { readonly queue?: boolean }): Promise<Job>;
  remove(id: number): Promise<void>;
  readonly identify: IdentifyJob;
  /** Acknowledges a finished job. Returns false, and changes nothing, while a job is unfinished. */
  acknowledge(): boolean;
  /** Finds the trainers started by an earlier service, and ends the jobs whose trainer is gone. */
  recover(): Promise<void>;
  /** Stops following; trainers keep running. */
  close(): Promise<void>;
}

/** The columns from the last run that a resume clears. */
const forgotten = {
  stopRequested: false,
  discardRequested: false,
  acknowledged: false,
  startedAt: null,
  endedAt: null,
  resultMetrics: null,
  errorCode: null,
  errorMessage: null,
  errorAdvice: null,
  errorEvidence: null,
  exitCode: null,
  exitSignal: null,
  pid: null,
  pidStarted: null,
  progress: null,
  phase: null,
  phaseProgress: null,
  phaseDetail: null,
};

/** How long a job that has ended ran, in all of its attempts. */
const secondsSoFar = ({ earlierSeconds, startedAt, endedAt }: Job): number =>
  startedAt === null || endedAt === null
    ? earlierSeconds
    : earlierSeconds + Math.max(0, Date.parse(endedAt) - Date.parse(startedAt)) / 1000;

export function createJobs(options: JobsOptions): Jobs {
  const { store, frames, judges, places, waits, logger } = options;
  let markRecovered = () => {};
  const recovered = new Promise<void>((resolve) => {
    markRecovered = resolve;
  });
  const folder = (id: number) => join(places.jobsDir, jobName(id));
  const records = createJobRecords(store, frames);
  const { move, end, ...reader } = records;
  const runs = createJobRuns({ ...options, ...options.machine }, records, folder);

  /** @throws AppError `conflict` where a training would have to wait. */
  function refuseWaiting(share: Share, workers: number): void {
    const others = store.jobs.inStates(unfinishedStates) as Job[];
    const reason = whyItWaits(others, share, workers, () => runs.hasRoom(share, workers));
    if (reason !== null) throw new AppError('conflict', reason);
  }

  /** @throws AppError `conflict` if the queue is full. */
  function refuseMore(): void {
    const waiting = store.jobs.inStates(['queued' satisfies JobState]).length;
    if (waiting < options.queueLimit) return;
    throw new AppError(
      'conflict',
      `The queue is full: ${waiting} trainings are waiting. Wait until one has started, or take one out of the queue.`,
    );
  }

  /** What a new run is called. */
  function nameOf(modelName: string, { data, settings }: JudgedRequest): string {
    return newName(
      { modelName, datasetName: data.name, settings: { ...settings } },
      {
        named: store.jobs.named,
        madeWith(earlier) {
          const job = store.jobs.get(earlier) as Job | null;
          const spec = job?.spec as Partial<Pick<JobSpec, 'settings'>> | null | undefined;
          return job === null ? null : { modelName: job.modelName, settings: { ...spec?.settings } };
        },
      },
    );
  }

  async function start(
    request: TrainingRequest,
    also: (job: Pick<Job, 'id' | 'modelId'>) => void = () => {},
  ): Promise<Started> {
    const share = await options.machine.share();
    const refuseConflict = (workers = request.workers ?? 1) =>
      request.queue ? refuseMore() : refuseWaiting(share, workers);
    refuseConflict();
    const judged = await judgeRequest(request, judges);
    await options.checkDisk(judged);
    const id = store.transaction(() => {
      refuseConflict(judged.settings.workers);
      const modelId = randomUUID();
      const inserted = store.jobs.insert({
        modelId,
        state: 'queued' satisfies JobState,
        task: request.task,
        provider: judged.provider,
        strategy: judged.strategy,
        modelName: request.model_name,
        datasetName: judged.data.name,
        createdAt: new Date().toISOString(),
        displayName: nameOf(request.model_name, judged),
      });
      also({ id: inserted, modelId });
      return inserted;
    });
    try {
      const { logsDir, tools } = places;
      store.jobs.update(id, {
        spec: await writeSpec(judged, { name: jobName(id), folder: folder(id), logsDir, tools }),
      });
      // Its name depends on earlier runs.
      writeIdentity(folder(id), reader.get(id));
      const asked = store.fineTuning.getJob(id);
      if (asked !== null) writeAsked(folder(id), asked);
    } catch (error) {
      store.jobs.remove(id);
      await rm(folder(id), { recursive: true, force: true });
      throw error;
    }
    frames.commit((emit) => emit('status', id, statusPayload(reader.get(id))));
    await runs.launchNext();
    return { job: reader.get(id), warnings: judged.warnings };
  }

  async function stop(id: number | undefined, discard: boolean): Promise<Job> {
    // Until recovery is done, a trainer started by an earlier service is unknown and cannot be stopped.
    await recovered;
    const asked = id === undefined ? reader.unfinished() : reader.get(id);
    if (asked === null)
      throw new AppError('conflict', 'No training is in progress, so there is nothing to stop.');
    // A process that is being started would train for a job that has ended.
    await runs.launched(asked.id);
    const job = reader.get(asked.id);
    if (!unfinishedStates.includes(job.state)) {
      throw new AppError('conflict', `${jobName(job.id)} is ${job.state}, so there is nothing to stop.`);
    }
    // Stored first, so that the intent survives a crash of this service.
    if (discard) store.jobs.update(job.id, { discardRequested: true });
    const run = runs.of(job.id);
    if (job.state === 'queued' || run === undefined) return end(job.id, 'stopped');
    if (job.state !== 'stopping') move(job.id, 'stopping', { stopRequested: true });
    if (run.trainer !== null) {
      void (discard ? killTrainer(run.trainer, 0) : stopTrainer(run.trainer, folder(job.id), waits));
    }
    await run.followed;
    return reader.get(job.id);
  }

  async function resume(id: number, queue: boolean): Promise<Job> {
    const job = reader.get(id);
    const share = await options.machine.share();
    const refuseConflict = () =>
      queue ? refuseMore() : refuseWaiting(share, job.spec === null ? 1 : workersOf(job.spec as JobSpec));
    refuseConflict();
    if (!resumableStates.includes(job.state)) {
      throw new AppError(
        'conflict',
        `${jobName(id)} is ${job.state}; only a job that was stopped, interrupted or has failed can be resumed.`,
      );
    }
    if (!existsSync(join(folder(id), 'spec.json'))) {
      throw new AppError(
        'conflict',
        `The folder of ${jobName(id)} is gone, so it cannot be resumed. Start a new training.`,
      );
    }
    // The process of the last run may still be exiting.
    const previous = await findTrainer(folder(id), null);
    if (previous !== null && !(await endsWithin(previous, waits.lingerMs)))
      await killTrainer(previous, waits.termMs);
    // Before the state changes: a queued job must not have an old stop request.
    await rm(join(folder(id), 'stop'), { force: true });
    refuseConflict();
    move(id, 'queued', { ...forgotten, earlierSeconds: secondsSoFar(job) });
    await runs.launchNext();
    return reader.get(id);
  }

  async function remove(id: number): Promise<void> {
    const refuseUnfinished = () => {
      const job = reader.get(id);
      if (!unfinishedStates.includes(job.state)) return job;
      throw new AppError('conflict', `${jobName(id)} is ${job.state}. Stop it before deleting it.`);
    };
    await options.release(refuseUnfinished());
    const { discardRequested } = refuseUnfinished();
    frames.commit((emit) => {
      store.jobs.remove(id);
      // Without a job id, because the stored frames of this job are deleted with it.
      emit('status', null, {
        job_id: jobName(id),
        state: 'deleted',
        ...(discardRequested ? { discarded: true } : {}),
      });
    });
    await rm(folder(id), { recursive: true, force: true });
    if (places.logsDir !== null)
      await rm(join(places.logsDir, jobName(id)), { recursive: true, force: true });
  }

  /** Deletes a job that is marked as discarded, once it has ended without a model. */
  async function discardEnded(id: number): Promise<void> {
    const job = store.jobs.get(id) as Job | null;
    if (job?.discardRequested && resumableStates.includes(job.state)) await remove(id);
  }

  return {
    ...reader,
    ...createJobHistory(store, reader.get, folder),
    start,
    faults: (request) => findFaults(request, judges),
    stop: (id) => stop(id, false),
    async discard(id) {
      const ended = await stop(id, true);
      await discardEnded(id);
      return ended;
    },
    resume: (id, { queue = false } = {}) => resume(id, queue),
    remove,
    identify: createJobIdentity(options, reader.get, folder),
    acknowledge() {
      if (reader.unfinished() !== null) return false;
      const newest = store.jobs.newest();
      if (newest !== null && !newest.acknowledged) store.jobs.update(newest.id, { acknowledged: true });
      return true;
    },
    async recover() {
      await recoverRuns({ store, records, runs, folder, waits, onEnded: discardEnded, logger });
      for (const { id } of store.jobs.toDiscard()) await discardEnded(id);
      await runs.launchNext();
      markRecovered();
    },
    close: () => runs.close(),
  };
}
