import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobFilter } from '../db/jobs.ts';
import { AppError } from '../errors.ts';
import type { JobSpec } from '../trainer/protocol.ts';
import { endsWithin, findTrainer, killTrainer, stopTrainer } from '../trainer/supervisor.ts';
import { type Job, jobName } from './job.ts';
import { createJobHistory, type JobHistory } from './job-history.ts';
import { statusPayload } from './job-journal.ts';
import { createJobRecords } from './job-records.ts';
import { createJobRuns, type JobRunsOptions } from './job-runs.ts';
import { type Judges, judgeRequest, writeSpec } from './job-spec.ts';
import { activeStates, type JobState, resumableStates, unfinishedStates } from './job-states.ts';
import type { TrainingRequest } from './training-request.ts';

export interface JobsOptions extends Judges, JobRunsOptions {
  readonly tools: JobSpec['tools'];
  readonly jobsDir: string;
  readonly logsDir: string | null;
  /** Holds what a request will write against what is free. @throws AppError `disk_full`. */
  readonly checkDisk: (request: TrainingRequest) => Promise<void>;
}

/** The life of training jobs: what may be asked of them, and when it is refused. */
export interface Jobs extends JobHistory {
  /**
   * Starts a job; with `queue` it waits its turn while another is unfinished.
   * @throws AppError `invalid`, `not_found`, `disk_full`, or `conflict` while another is unfinished and it may
   *   not wait.
   */
  start(request: TrainingRequest): Promise<Job>;
  /**
   * Stops a job (the running one, where none is named) with a checkpoint; one that waits is taken out of the
   * queue. Resolves when it has ended. @throws AppError `conflict` when there is nothing to stop.
   */
  stop(id?: number): Promise<Job>;
  /**
   * Ends a job without saving anything, then deletes it with its checkpoints; one that completed meanwhile
   * stays, with its model. Resolves with the job as it ended. @throws AppError `conflict` as `stop` does.
   */
  discard(id: number): Promise<Job>;
  /** @throws AppError `conflict` when it cannot be resumed now. */
  resume(id: number): Promise<Job>;
  get(id: number): Job;
  list(filter: JobFilter): { jobs: Job[]; total: number };
  /** How many jobs there are in each state. */
  counts(): { readonly state: string; readonly count: number }[];
  remove(id: number): Promise<void>;
  /**
   * The job that status answers tell of: the newest, unless its end was acknowledged. The same object until a
   * job changes, so that what is made of it can be kept.
   */
  current(): Job | null;
  unfinished(): Job | null;
  /** Acknowledges a finished job; false while one is unfinished, which changes nothing. */
  acknowledge(): boolean;
  /** Finds trainers of an earlier server again, and ends what has no trainer any more. */
  recover(): Promise<void>;
  /** Stops following; trainers go on. */
  close(): Promise<void>;
}

export function createJobs(options: JobsOptions): Jobs {
  const { store, frames, waits } = options;
  let markRecovered = () => {};
  const recovered = new Promise<void>((resolve) => {
    markRecovered = resolve;
  });
  const folder = (id: number) => join(options.jobsDir, jobName(id));
  const records = createJobRecords(store, frames);
  const { read, move } = records;
  const runs = createJobRuns(options, records, folder);
  /** The job that holds the machine, or else the first that waits for it. */
  const unfinished = store.jobs.cached(() => {
    const found = store.jobs.inStates(activeStates)[0] ?? store.jobs.inStates(unfinishedStates)[0];
    return (found as Job | undefined) ?? null;
  });
  const current = store.jobs.cached(() => {
    const job = unfinished() ?? (store.jobs.newest() as Job | null);
    return job === null || job.acknowledged ? null : job;
  });
  const refuseSecond = () => {
    const other = unfinished();
    if (other !== null) {
      throw new AppError(
        'conflict',
        `A training is already in progress (${jobName(other.id)}, ${other.state}). Stop it first, or wait until it has ended.`,
      );
    }
  };

  async function stop(id: number | undefined, discard: boolean): Promise<Job> {
    // Until then a trainer of an earlier server is not known, and could not be asked.
    await recovered;
    const job = id === undefined ? unfinished() : read(id);
    if (job === null)
      throw new AppError('conflict', 'No training is in progress, so there is nothing to stop.');
    if (!unfinishedStates.includes(job.state)) {
      throw new AppError('conflict', `${jobName(job.id)} is ${job.state}, so there is nothing to stop.`);
    }
    // Stored first: should this service end in between, the next one knows what was wanted.
    if (discard) store.jobs.update(job.id, { discardRequested: true });
    const run = runs.of(job.id);
    if (job.state === 'queued' || run === undefined)
      return move(job.id, 'stopped', { endedAt: new Date().toISOString() });
    if (job.state !== 'stopping') move(job.id, 'stopping', { stopRequested: true });
    if (run.trainer !== null) {
      void (discard ? killTrainer(run.trainer, 0) : stopTrainer(run.trainer, folder(job.id), waits));
    }
    await run.followed;
    return read(job.id);
  }

  async function remove(id: number): Promise<void> {
    const job = read(id);
    if (unfinishedStates.includes(job.state)) {
      throw new AppError('conflict', `${jobName(id)} is ${job.state}. Stop it before deleting it.`);
    }
    frames.commit((emit) => {
      store.jobs.remove(id);
      // Of no job: what is kept of this one goes with it.
      emit('status', null, { job_id: jobName(id), state: 'deleted' });
    });
    await rm(folder(id), { recursive: true, force: true });
    if (options.logsDir !== null)
      await rm(join(options.logsDir, jobName(id)), { recursive: true, force: true });
  }

  /** Deletes a job that was to be discarded, once it has ended without a model. */
  async function discardEnded(id: number): Promise<void> {
    const job = store.jobs.get(id) as Job | null;
    if (job?.discardRequested && resumableStates.includes(job.state)) await remove(id);
  }

  return {
    async start(request) {
      if (!request.queue) refuseSecond();
      const judged = await judgeRequest(request, options);
      await options.checkDisk(request);
      const id = store.transaction(() => {
        if (!request.queue) refuseSecond();
        return store.jobs.insert({
          modelId: randomUUID(),
          state: 'queued' satisfies JobState,
          task: request.task,
          provider: judged.provider,
          strategy: judged.strategy,
          modelName: request.model_name,
          datasetName: judged.data.name,
          createdAt: new Date().toISOString(),
        });
      });
      try {
        const { logsDir, tools } = options;
        store.jobs.update(id, {
          spec: await writeSpec(judged, { name: jobName(id), folder: folder(id), logsDir, tools }),
        });
      } catch (error) {
        store.jobs.remove(id);
        await rm(folder(id), { recursive: true, force: true });
        throw error;
      }
      frames.commit((emit) => emit('status', id, statusPayload(read(id))));
      await runs.launchNext();
      return read(id);
    },

    stop: (id) => stop(id, false),

    async discard(id) {
      const ended = await stop(id, true);
      await discardEnded(id);
      return ended;
    },

    async resume(id) {
      const job = read(id);
      refuseSecond();
      if (!resumableStates.includes(job.state)) {
        throw new AppError(
          'conflict',
          `${jobName(id)} is ${job.state}; only a job that was stopped, interrupted or has failed can be resumed.`,
        );
      }
      if (!existsSync(join(folder(id), 'spec.json'))) {
        throw new AppError(
          'conflict',
          `The folder of ${jobName(id)} is gone, so it cannot be resumed. Start it anew.`,
        );
      }
      // The process of the last run may still be on its way out.
      const previous = await findTrainer(folder(id), null);
      if (previous !== null && !(await endsWithin(previous, waits.lingerMs)))
        await killTrainer(previous, waits.termMs);
      // Before the state says so: nothing may find a queued job whose old request to stop still lies there.
      await rm(join(folder(id), 'stop'), { force: true });
      refuseSecond();
      move(id, 'queued', {
        stopRequested: false,
        discardRequested: false,
        acknowledged: false,
        endedAt: null,
        ...{ errorCode: null, errorMessage: null, errorAdvice: null, errorEvidence: null },
        ...{ exitCode: null, exitSignal: null, pid: null, pidStarted: null },
        ...{ phase: null, phaseProgress: null, phaseDetail: null },
      });
      return runs.launch(id);
    },

    ...createJobHistory(store, read, folder),

    get: read,

    counts: () => store.jobs.counts(),

    list(filter) {
      const { jobs, total } = store.jobs.list(filter);
      return { jobs: jobs as Job[], total };
    },

    remove,

    current,

    unfinished,

    acknowledge() {
      if (unfinished() !== null) return false;
      const newest = store.jobs.newest();
      if (newest !== null && !newest.acknowledged) store.jobs.update(newest.id, { acknowledged: true });
      return true;
    },

    async recover() {
      for (const row of store.jobs.inStates(unfinishedStates)) {
        const job = row as Job;
        const known =
          job.pid === null || job.pidStarted === null ? null : { pid: job.pid, started: job.pidStarted };
        const trainer = await findTrainer(folder(job.id), known);
        if (job.state === 'queued' && job.spec === null) {
          runs.fail(job.id, {
            code: 'internal',
            message: 'The service ended before this training could be prepared.',
            advice: 'Start it again.',
          });
        }
        if (job.state === 'queued' && trainer !== null) move(job.id, 'starting');
        if (
          !(activeStates as readonly string[]).includes(read(job.id).state) ||
          runs.of(job.id) !== undefined
        )
          continue;
        if (trainer !== null) {
          store.jobs.update(job.id, { pid: trainer.identity.pid, pidStarted: trainer.identity.started });
          options.logger.info(
            { job: jobName(job.id), pid: trainer.identity.pid },
            'A running training was found again',
          );
          if (job.discardRequested) void killTrainer(trainer, 0);
          else if (job.stopRequested) void stopTrainer(trainer, folder(job.id), waits);
        }
        void runs.watch(job.id, trainer).followed.then(() => discardEnded(job.id));
      }
      for (const { id } of store.jobs.toDiscard()) await discardEnded(id);
      await runs.launchNext();
      markRecovered();
    },

    close: () => runs.close(),
  };
}
