import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobRow } from '../../db/jobs.ts';
import type { Store } from '../../db/store.ts';
import { AppError, asAppError } from '../../errors.ts';
import type { TrainedModel } from '../../inference/trained-engine.ts';
import { baseGgufName, checkpointAdapterName, prepareCheckpoint } from '../../trainer/checkpoint.ts';
import type { TrainerCommand } from '../../trainer/supervisor.ts';
import { jobName } from '../job-record/job.ts';
import type { Models } from '../models/models.ts';
import { trainedModelOf } from '../models/trained-model.ts';
import { type Checkpoint, readCheckpoints } from './kept-checkpoints.ts';

export type { Checkpoint } from './kept-checkpoints.ts';

/** The files with which an engine answers as a run was at a checkpoint. */
export type CheckpointFiles = {
  readonly template: string;
  readonly adapters: readonly { readonly path: string; readonly scale: number }[];
} & ({ readonly gguf: string } | { readonly trained: TrainedModel });

/** The checkpoints that jobs keep, while they run and after. */
export interface Checkpoints {
  /** By step; none if the job was deleted. */
  list(jobId: number): Promise<Checkpoint[]>;
  /**
   * The job of a run, by its name (`train_1`), its future model's UUID, or its model's name or either ID.
   * @throws AppError `not_found`.
   */
  jobOf(reference: string): JobRow;
  /**
   * Makes the files that a checkpoint needs to answer, unless they exist; several callers share one conversion.
   * @throws AppError `not_found` with the steps that there are; `conflict` with the reason why it cannot answer;
   * `disk_full`.
   */
  prepare(job: JobRow, step: number): Promise<CheckpointFiles>;
  /** Ends a conversion. */
  close(): void;
}

export function createCheckpoints(options: {
  readonly store: Store;
  readonly models: Models;
  readonly jobsDir: string;
  readonly command: TrainerCommand;
}): Checkpoints {
  const { store, models, jobsDir, command } = options;
  const folder = (job: { id: number }) => join(jobsDir, jobName(job.id));
  const closing = new AbortController();
  /** One conversion at a time, because each is a Python process that reads the base model. */
  let turn: Promise<unknown> = Promise.resolve();

  /** Jobs whose model llama.cpp cannot run; their checkpoints answer without a conversion. */
  const unconverted = new Set<number>();

  const list = (jobId: number) => readCheckpoints(folder({ id: jobId }));

  async function unknownStep(job: JobRow, step: number): Promise<AppError> {
    const steps = (await list(job.id)).map((kept) => kept.step);
    return new AppError(
      'not_found',
      `${jobName(job.id)} keeps no checkpoint of step ${step}. ${
        steps.length === 0
          ? 'It has none.'
          : `It has ${steps.length === 1 ? 'step' : 'steps'} ${steps.join(', ')}.`
      }`,
    );
  }

  function inTurn(work: () => Promise<void>): Promise<void> {
    const mine = turn.then(work);
    turn = mine.catch(() => undefined);
    return mine;
  }

  async function prepare(job: JobRow, step: number): Promise<CheckpointFiles> {
    const kept = (await list(job.id)).find((one) => one.step === step);
    if (kept === undefined) throw await unknownStep(job, step);
    const model = store.models.byModelId(job.modelId);
    if (model === null && job.state === 'completed') {
      throw new AppError(
        'conflict',
        `The model of ${jobName(job.id)} was deleted, so its checkpoints cannot answer. Train it again.`,
      );
    }
    const present = (path: string | null) => (path !== null && existsSync(path) ? path : null);
    const merged = model && present(models.fileOf(model, 'gguf'));
    const final = model && present(models.fileOf(model, 'adapter_gguf'));
    const template = model
      ? models.fileOf(model, 'template')
      : present(join(folder(job), 'artifacts', 'template.json'));
    if (template === null) {
      throw new AppError('conflict', `${jobName(job.id)} has no prompt template, so it cannot answer.`);
    }
    const own = join(folder(job), kept.path, checkpointAdapterName);
    const base = join(folder(job), baseGgufName);
    // The merged model minus its adapter is the base.
    const isMerged = merged !== null && final !== null;
    const withBase = () => !isMerged && !existsSync(base);
    const isMissing = () => !unconverted.has(job.id) && (!existsSync(own) || withBase());
    if (isMissing()) {
      await inTurn(async () => {
        if (isMissing()) await convert(job, step, template, withBase());
      });
    }
    if (unconverted.has(job.id)) {
      const adapters = [{ path: join(folder(job), kept.path), scale: 1 }];
      return { trained: trainedModelOf(job, folder(job)), template, adapters };
    }
    if (isMerged) {
      // Made while the run had no merged model.
      await rm(base, { force: true }).catch(() => undefined);
      return {
        gguf: merged,
        template,
        adapters: [
          { path: final, scale: -1 },
          { path: own, scale: 1 },
        ],
      };
    }
    return { gguf: base, template, adapters: [{ path: own, scale: 1 }] };
  }

  /** Makes the GGUF files of a checkpoint, or finds that llama.cpp cannot run its model. */
  async function convert(job: JobRow, step: number, templatePath: string, withBase: boolean): Promise<void> {
    try {
      const { signal } = closing;
      await prepareCheckpoint(command, folder(job), { step, templatePath, withBase, signal });
    } catch (error) {
      if (closing.signal.aborted) throw new AppError('unavailable', 'The service is shutting down.');
      // A run deletes old checkpoints when it saves new ones.
      if (!(await list(job.id)).some((kept) => kept.step === step)) throw await unknownStep(job, step);
      const { kind, message, details } = asAppError(error);
      if (kind !== 'invalid') throw error;
      if (details.code === 'unsupported') {
        unconverted.add(job.id);
        return;
      }
      throw new AppError(
        details.code === 'disk_full' ? 'disk_full' : 'conflict',
        `The checkpoint of step ${step} cannot answer: ${message}`,
        { cause: error },
      );
    }
  }

  return {
    list,
    jobOf(reference) {
      const numbered = /^train_(\d{1,15})$/.exec(reference);
      const job = numbered ? store.jobs.get(Number(numbered[1])) : store.jobs.byModelId(reference);
      if (job !== null) return job;
      const model = models.findByName(reference);
      const owner = model.jobId === null ? null : store.jobs.get(model.jobId);
      if (owner !== null) return owner;
      throw new AppError(
        'not_found',
        `The training of the model ${model.name} was deleted, and its checkpoints with it.`,
      );
    },
    prepare,
    close: () => closing.abort(),
  };
}
