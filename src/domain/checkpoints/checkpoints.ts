import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Store } from '../../db/store.ts';
import type { JobRow } from '../../db/tables/jobs.ts';
import { AppError, asAppError } from '../../errors.ts';
import { checkpointAdapterName, prepareCheckpoint } from '../../trainer/checkpoint.ts';
import type { TrainerCommand } from '../../trainer/processes/supervisor.ts';
import { jobName } from '../job-record/job.ts';
import { type Model, type Models, readTemplateFacts, type TemplateFacts } from '../models/models.ts';
import { trainedModelOf } from '../models/trained-model.ts';
import { createBaseRecord } from './base-record.ts';
import { createBaseSharing } from './base-sharing.ts';
import { type Checkpoint, readCheckpoints } from './kept-checkpoints.ts';
import { createPreparing, type Preparation } from './preparing.ts';
import { readBaseNote, type SharedBases } from './shared-bases.ts';
import { type GgufWeights, type TrainedWeights, weightsOf } from './weights.ts';

export type { Checkpoint } from './kept-checkpoints.ts';

/** A checkpoint that can answer. */
export interface FoundCheckpoint {
  /** The folder of its adapter. */
  readonly folder: string;
  /** The file with the prompt template of its training. */
  readonly template: string;
  /** The model of its run, unless there is none yet. */
  readonly model: Model | null;
}

/** The checkpoints that jobs keep, while they run and after. */
export interface Checkpoints {
  /** By step; none if the job was deleted. */
  list(jobId: number): Promise<Checkpoint[]>;
  /** What is told of the template that a job uses; nothing before it has chosen. */
  templateOf(job: JobRow): Promise<TemplateFacts>;
  /**
   * The job of a run, by its name (`train_1`), its future model's UUID, or its model's name or either ID.
   * @throws AppError `not_found`.
   */
  jobOf(reference: string): JobRow;
  /**
   * A kept checkpoint with the prompt template of its run.
   * @throws AppError `not_found` with the steps that there are; `conflict` with the reason why it cannot answer.
   */
  find(job: JobRow, step: number): Promise<FoundCheckpoint>;
  /**
   * Makes the files that a checkpoint needs to answer, unless they exist; several callers share one conversion.
   * @throws AppError `not_found` with the steps that there are; `conflict` with the reason why it cannot answer;
   * `disk_full`.
   */
  prepare(job: JobRow, step: number): Promise<GgufWeights | TrainedWeights>;
  /**
   * Begins to make the file of a model's base, where several models would share it and no training runs. Until it is
   * complete, they answer with their merged files.
   */
  share(model: Model): void;
  /**
   * Finds out what the base of a model is, if an earlier version that did not record it has trained the model.
   * @returns why that cannot be found out, or `null` if it is recorded.
   */
  recordBase(model: Model): Promise<string | null>;
  /** Ends making the file of a base; it is not tried again before the next start. @returns whether one was being made. */
  stopSharing(): Promise<boolean>;
  /** What is being made, or `null`. */
  preparation(): Preparation | null;
  /** Ends a conversion in the folder of a job. */
  release(job: JobRow): Promise<void>;
  /** Ends all conversions. */
  close(): void;
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its methods share which checkpoints are being prepared
export function createCheckpoints(options: {
  readonly store: Store;
  readonly models: Models;
  readonly bases: SharedBases;
  readonly jobsDir: string;
  readonly command: TrainerCommand;
  readonly logger: { warn(fields: object, message: string): void };
}): Checkpoints {
  const { store, models, bases, jobsDir, command, logger } = options;
  const folder = (job: { id: number }) => join(jobsDir, jobName(job.id));
  const closing = new AbortController();
  const preparing = createPreparing();
  const sharing = createBaseSharing({
    store,
    models,
    bases,
    preparing,
    folderOf: folder,
    command,
    logger,
    closing: closing.signal,
  });
  /** Jobs whose model llama.cpp cannot run; their checkpoints answer without a conversion. */
  const unconverted = new Set<number>();

  function hasFile(model: Model, kind: string): boolean {
    const path = models.fileOf(model, kind);
    return path !== null && existsSync(path);
  }

  const list = (jobId: number) => readCheckpoints(folder({ id: jobId }));

  const templateOf = (job: JobRow, model: Model | null) =>
    model ? models.fileOf(model, 'template') : join(folder(job), 'artifacts', 'template.json');

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

  async function find(job: JobRow, step: number): Promise<FoundCheckpoint> {
    const kept = (await list(job.id)).find((one) => one.step === step);
    if (kept === undefined) throw await unknownStep(job, step);
    const model = store.models.byModelId(job.modelId);
    if (model === null && job.state === 'completed') {
      throw new AppError(
        'conflict',
        `The model of ${jobName(job.id)} was deleted, so its checkpoints cannot answer. Train it again.`,
      );
    }
    const template = templateOf(job, model);
    if (template === null || !existsSync(template)) {
      throw new AppError('conflict', `${jobName(job.id)} has no prompt template, so it cannot answer.`);
    }
    return { folder: join(folder(job), kept.path), template, model };
  }

  async function prepare(job: JobRow, step: number): Promise<GgufWeights | TrainedWeights> {
    const { folder: keptIn, template, model } = await find(job, step);
    const adapter = join(keptIn, checkpointAdapterName);
    // With an adapter of its own, the model's file can be turned into the base.
    const isMerged = model !== null && ['gguf', 'adapter_gguf'].every((kind) => hasFile(model, kind));
    const note = () => readBaseNote(isMerged ? model.path : folder(job));
    const withBase = async () => !isMerged && bases.fileOf(await note()) === null;
    const isMissing = async () => !unconverted.has(job.id) && (!existsSync(adapter) || (await withBase()));
    if (await isMissing()) {
      await preparing.inTurn({ kind: 'checkpoint', name: jobName(job.id) }, async (onProgress) => {
        if (await isMissing()) await convert(job, step, template, await withBase(), onProgress);
      });
    }
    if (unconverted.has(job.id)) {
      const adapters = [{ path: keptIn, scale: 1 }];
      return { trained: await trainedModelOf(job, folder(job)), template, adapters };
    }
    // Earlier versions made one for each job.
    await rm(join(folder(job), 'base.gguf'), { force: true }).catch(() => undefined);
    if (isMerged) return { ...(await weightsOf(model, template, models, bases)), adapter };
    const described = await note();
    const gguf = bases.fileOf(described);
    if (gguf === null) {
      throw new AppError('conflict', `The base model of ${jobName(job.id)} was just deleted. Ask again.`);
    }
    return { template, gguf, unmerge: [], adapter, base: described?.base ?? null };
  }

  /** Makes the GGUF files of a checkpoint, or finds that llama.cpp cannot run its model. */
  async function convert(
    job: JobRow,
    step: number,
    templatePath: string,
    withBase: boolean,
    onProgress: (share: number) => void,
  ): Promise<void> {
    try {
      const { signal } = closing;
      const basesDir = withBase ? bases.dir : null;
      await prepareCheckpoint(command, folder(job), { step, templatePath, basesDir, signal, onProgress });
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
    templateOf: (job) => readTemplateFacts(templateOf(job, store.models.byModelId(job.modelId))),
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
    find,
    prepare,
    share: sharing.share,
    recordBase: createBaseRecord({ models, preparing, folderOf: folder, command, closing: closing.signal }),
    stopSharing: sharing.stop,
    preparation: preparing.current,
    release: ({ id }) => sharing.release(id),
    close: () => closing.abort(),
  };
}
