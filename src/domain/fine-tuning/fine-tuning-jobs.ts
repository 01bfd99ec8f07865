import { setTimeout as sleep } from 'node:timers/promises';
import { unfinishedStates } from '../../contract/jobs.ts';
import { type Settings, settings } from '../../contract/settings.ts';
import type { Store } from '../../db/store.ts';
import type { FineTuningJobRow, StoppedAs } from '../../db/tables/fine-tuning.ts';
import { AppError } from '../../errors.ts';
import { refusalOf } from '../../faults.ts';
import type { JobSpec } from '../../trainer/protocol.ts';
import type { Checkpoint, Checkpoints } from '../checkpoints/checkpoints.ts';
import type { Datasets } from '../datasets/datasets.ts';
import { type Job, jobName } from '../job-record/job.ts';
import type { Jobs } from '../jobs/jobs.ts';
import type { FineTuningFiles } from './fine-tuning-files.ts';
import { foreignModelRefusal } from './foreign-model.ts';
import { type JobEvent, readJobEvents } from './job-events.ts';
import { inTermsOf, type JobRequest, toTrainingRequest } from './job-request.ts';
import { type FineTuningState, stateOf } from './job-status.ts';
import { checkpointName, fineTunedName } from './model-name.ts';
import type { ResultFiles } from './result-files.ts';
import { type StepFigures, stepFigures } from './step-figures.ts';

/** A job in the terms of OpenAI's API. */
export interface FineTuningJob {
  readonly job: Job;
  readonly state: FineTuningState;
  /** What its request said; `null` for a job that was started by other means. */
  readonly asked: FineTuningJobRow | null;
  /** `null` until it has succeeded. */
  readonly modelName: string | null;
  readonly trainingFile: string;
  readonly resultFile: string | null;
  /** Relative to the rate that is recommended. */
  readonly learningRateMultiplier: number | null;
  /** The training settings; `null` where the job's specification lacks them. */
  readonly settings: Partial<Settings> | null;
  /** The project of Weights & Biases that gets its figures; `null` for none. */
  readonly wandbProject: string | null;
}

/** A checkpoint, and the name that it answers to. */
export interface NamedCheckpoint extends Pick<Checkpoint, 'step' | 'createdAt'> {
  readonly name: string;
  readonly figures: StepFigures;
}

/** A page of a list, newest first. */
export interface JobPage<T> {
  readonly items: T[];
  readonly hasMore: boolean;
}

/** Training jobs as OpenAI's API has them. Every method throws AppError `not_found` for an unknown job. */
export interface FineTuningJobs {
  /** Starts a job, or queues it. @throws AppError `invalid`, `disk_full`, or `too_many` if the queue is full. */
  create(request: JobRequest): Promise<FineTuningJob>;
  get(id: number): FineTuningJob;
  /** All jobs before one, by whatever means they were started. @param metadata as `FineTuningStore.jobIds` has it. */
  list(filter: {
    readonly before: number | null;
    readonly limit: number;
    readonly metadata: Readonly<Record<string, string>> | null;
  }): JobPage<FineTuningJob>;
  /** The checkpoints that a job keeps, newest first, with their names. */
  checkpoints(id: number): Promise<NamedCheckpoint[]>;
  events(id: number, before: number | null, limit: number): JobPage<JobEvent>;
  /**
   * Stops a job, with a checkpoint; resolves when it has stopped, or after a while in which it is stopping. A paused job
   * is cancelled, too. @throws AppError `invalid` if it has ended.
   */
  stop(id: number, as: StoppedAs): Promise<FineTuningJob>;
  /** Resumes a job from its last checkpoint, or queues it. @throws AppError `invalid` if it is neither paused nor failed, `conflict` if it cannot be resumed. */
  resume(id: number): Promise<FineTuningJob>;
}

/** How long a request to stop waits for the checkpoint. */
const stopAnswerMs = 30_000;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its methods share the jobs that OpenAI’s API has begun
export function createFineTuningJobs(options: {
  readonly store: Store;
  readonly jobs: Jobs;
  readonly checkpoints: Checkpoints;
  readonly datasets: Datasets;
  readonly files: FineTuningFiles;
  readonly results: ResultFiles;
  readonly recommendedSettings: () => Promise<Settings>;
  /** A model that fits this machine. */
  readonly recommendedModel: () => Promise<string>;
}): FineTuningJobs {
  const { store, jobs, files, results } = options;
  const { fineTuning } = store;

  function present(job: Job): FineTuningJob {
    const state = stateOf(job, fineTuning);
    const asked = fineTuning.getJob(job.id);
    const spec = job.spec as Partial<JobSpec> | null;
    const trained = spec?.settings ?? null;
    const succeeded = state === 'succeeded';
    return {
      job,
      state,
      asked,
      modelName: succeeded ? (store.models.byModelId(job.modelId)?.name ?? asked?.modelName ?? null) : null,
      trainingFile: asked?.trainingFile ?? files.idOf(job.datasetName) ?? job.datasetName,
      resultFile: succeeded ? results.of(job) : null,
      learningRateMultiplier:
        asked?.learningRateMultiplier ??
        (trained === null ? null : trained.learning_rate / settings.learning_rate.recommended),
      settings: trained,
      wandbProject: spec?.tracking?.report_to.includes('wandb') ? spec.tracking.project : null,
    };
  }

  async function judgeModel(model: string): Promise<void> {
    // A model that was fine-tuned here can be fine-tuned further.
    if (store.models.byName(model) !== null) return;
    const msg = foreignModelRefusal(model, await options.recommendedModel());
    if (msg === null) return;
    const refusal = refusalOf('model', msg);
    throw new AppError('invalid', msg, { issues: refusal.issues, details: { code: 'model_not_available' } });
  }

  /** The dataset of a file. @throws AppError `invalid`, naming the field. */
  function datasetOf(id: string, field: 'training_file' | 'validation_file'): string {
    try {
      return files.datasetOf(id);
    } catch (error) {
      const { message, issues } = refusalOf(field, `Field "${field}": ${(error as Error).message}`);
      throw new AppError('invalid', message, { cause: error, issues, details: { code: `invalid_${field}` } });
    }
  }

  const own: FineTuningJobs = {
    async create(request) {
      await judgeModel(request.model);
      const recommended = await options.recommendedSettings();
      const dataset = options.datasets.get(datasetOf(request.trainingFile, 'training_file'));
      const rows = { name: dataset.name, rows: dataset.numExamples };
      const { suffix, metadata, trainingFile, validationFile, hyperparameters } = request;
      const validation = validationFile === null ? null : datasetOf(validationFile, 'validation_file');
      const asked = toTrainingRequest(request, recommended, rows, validation);
      try {
        const { job } = await jobs.start(
          asked,
          ({ id, modelId }) =>
            fineTuning.putJob({
              jobId: id,
              modelName: fineTunedName(request.model, suffix, modelId),
              suffix,
              metadata,
              trainingFile,
              validationFile,
              learningRateMultiplier: hyperparameters.learningRateMultiplier ?? 1,
            }),
          true,
        );
        return present(job);
      } catch (error) {
        throw inTermsOf(request, error);
      }
    },

    get: (id) => present(jobs.get(id)),

    list({ before, limit, metadata }) {
      const ids = fineTuning.jobIds({ before, limit: limit + 1, metadata });
      return { items: ids.slice(0, limit).map(own.get), hasMore: ids.length > limit };
    },

    async checkpoints(id) {
      const { job, asked } = own.get(id);
      const name = asked?.modelName ?? store.models.byModelId(job.modelId)?.name ?? jobName(id);
      const kept = await options.checkpoints.list(id);
      return kept
        .map(({ step, createdAt }) => ({
          step,
          createdAt,
          name: checkpointName(name, step),
          figures: Object.assign(
            {},
            ...store.events.atStep(id, step).map(({ payload }) => stepFigures(payload)),
          ) as StepFigures,
        }))
        .reverse();
    },

    events(id, before, limit) {
      const { events, hasMore } = readJobEvents(store.events, jobs.get(id), before, limit);
      return { items: events, hasMore };
    },

    async stop(id, as) {
      const job = jobs.get(id);
      const { state } = present(job);
      const isPaused = state === 'paused' && job.state === 'stopped';
      if (!unfinishedStates.includes(job.state) && !(isPaused && as === 'cancelled')) {
        throw new AppError('invalid', `The job has already ended: it is ${state}.`);
      }
      fineTuning.setStoppedAs(id, as);
      if (!isPaused) {
        const stopped = jobs.stop(id).catch((error: AppError) => {
          // It has ended meanwhile.
          if (error.kind !== 'conflict') throw error;
        });
        // A failure after that is told by the job itself.
        stopped.catch(() => undefined);
        await Promise.race([stopped, sleep(stopAnswerMs, null, { ref: false })]);
      }
      return own.get(id);
    },

    async resume(id) {
      const { state } = own.get(id);
      if (state !== 'paused' && state !== 'failed') {
        throw new AppError(
          'invalid',
          `The job is ${state}; only a job that is paused or has failed can be resumed.`,
        );
      }
      const job = await jobs.resume(id, { queue: true });
      fineTuning.setStoppedAs(id, null);
      return present(job);
    },
  };
  return own;
}
