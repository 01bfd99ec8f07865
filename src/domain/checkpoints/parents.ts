import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, cp, mkdir, rename, rm } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { Settings } from '../../contract/settings.ts';
import type { Store } from '../../db/store.ts';
import type { JobRow } from '../../db/tables/jobs.ts';
import { AppError } from '../../errors.ts';
import { refusalOf } from '../../faults.ts';
import type { JobSpec } from '../../trainer/protocol.ts';
import { isHubId } from '../base-models/base-model.ts';
import { adapterWeights } from '../base-models/files/weight-files.ts';
import { type FoundParent, isWhole, type Parents, parentError } from '../base-models/parent.ts';
import { jobName } from '../job-record/job.ts';
import { mergesAdapter, settingsIn } from '../models/merged-base.ts';
import type { Model, Models } from '../models/models.ts';
import type { Checkpoints } from './checkpoints.ts';

const run = /^train_(\d{1,15})$/;
const checkpoint = /^(.+)@(\d{1,15})$/;
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** GGUF types that are near enough to the trained weights to train from. */
const nearTypes: readonly (string | null)[] = ['F32', 'F16', 'BF16', 'Q8_0'];

function refuse(msg: string): never {
  throw refusalOf('model_name', msg);
}

/** Finds models and checkpoints that a training may go on from. */
export function createParents(options: {
  readonly store: Store;
  readonly models: Models;
  readonly checkpoints: Pick<Checkpoints, 'jobOf' | 'find'>;
}): Parents {
  const { store, models, checkpoints } = options;

  function ofModel(model: Model): FoundParent {
    const folder = adapterFolder(model);
    const { config, name, modelId, baseModel, task } = model;
    return {
      modelId,
      name,
      step: null,
      baseModel,
      task,
      folder,
      mergesAdapter: mergesAdapter(config),
      settings: settingsIn(config),
      gguf: nearGguf(model),
      merge: () => ({ like: folder, make: async () => folder }),
    };
  }

  async function ofCheckpoint(job: JobRow, step: number): Promise<FoundParent> {
    const { folder, model } = await named(() => checkpoints.find(job, step));
    const { settings, model: base } = job.spec as JobSpec;
    const found = { ...nameOf(job, model), step, folder, baseModel: job.modelName, task: job.task };
    if (isWhole({ settings }))
      refuse(
        `All weights were trained in ${jobName(job.id)}, and a training goes on from its model alone, not from a checkpoint. Name the model`,
      );
    if (!existsSync(join(folder, adapterWeights)))
      refuse(`The checkpoint of step ${step} of ${jobName(job.id)} has no ${adapterWeights}`);
    return {
      ...found,
      settings: settings as Partial<Settings>,
      mergesAdapter: base.adapter !== undefined,
      gguf: model && nearGguf(model),
      merge() {
        if (model === null)
          refuse(
            `The run of ${found.name} has no model yet, so that its checkpoint cannot be merged. Wait for its end, or keep adapter, lora_r and lora_alpha`,
          );
        return { like: adapterFolder(model), make: () => adapterOf(model, folder, step) };
      },
    };
  }

  /** The folder of a checkpoint's adapter, beside its model, which jobs that merge it share. */
  async function adapterOf(model: Model, from: string, step: number): Promise<string> {
    const made = join(model.path, `adapter-${step}`);
    if (existsSync(made)) return made;
    const aside = `${made}.${randomUUID()}.partial`;
    try {
      await mkdir(aside);
      const isOther = (path: string) => !path.endsWith(adapterWeights);
      await cp(adapterFolder(model), aside, { recursive: true, filter: isOther, preserveTimestamps: true });
      await copyFile(join(from, adapterWeights), join(aside, adapterWeights));
      await rename(aside, made);
    } catch (error) {
      await rm(aside, { recursive: true, force: true });
      // Another start made it, or the model or checkpoint was deleted.
      if (existsSync(made)) return made;
      throw parentError(error, `step ${step} of ${model.name}`);
    }
    return made;
  }

  function adapterFolder(model: Model): string {
    const folder = models.fileOf(model, 'adapter');
    if (folder !== null && existsSync(folder)) return folder;
    refuse(`The adapter of ${model.name} is gone from ${model.path}. Put it back, or name another model`);
  }

  function byName(reference: string): Model | null {
    const found = store.models.byName(reference) ?? store.models.byModelId(reference);
    if (found !== null || !uuid.test(reference)) return found;
    refuse(`There is no model ${reference}. GET /api/catalog has those that there are`);
  }

  return {
    async find(reference) {
      if (isPlace(reference)) return null;
      const model = store.models.byName(reference);
      if (model !== null) return ofModel(model);
      if (isHubId(reference)) return null;
      const [, of, step] = checkpoint.exec(reference) ?? [];
      if (of !== undefined) return ofCheckpoint(await named(() => checkpoints.jobOf(of)), Number(step));
      if (run.test(reference)) {
        const job = await named(() => checkpoints.jobOf(reference));
        const made = store.models.byModelId(job.modelId);
        if (made !== null) return ofModel(made);
        refuse(
          `${reference} has no model. Name one of its checkpoints (${reference}@STEP), or another model`,
        );
      }
      const byId = /^\d{1,15}$/.test(reference) ? store.models.byId(Number(reference)) : byName(reference);
      return byId && ofModel(byId);
    },
  };
}

/** What is found, with an error of the request where it is not there or of no use. */
async function named<T>(find: () => T | Promise<T>): Promise<T> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof AppError && (error.kind === 'not_found' || error.kind === 'conflict'))
      refuse(error.message);
    throw error;
  }
}

/** Whether a text is the path of a folder or file, which no model of Hone is named by. */
const isPlace = (text: string) =>
  isAbsolute(text) || /^(?:~|\.{1,2})[/\\]/.test(text) || /^[/\\]{2}/.test(text) || text.includes('\0');

const nameOf = (job: JobRow, model: Model | null) => ({
  modelId: job.modelId,
  name: model?.name ?? jobName(job.id),
});

function nearGguf({ artifacts, path }: Model): string | null {
  const file = artifacts.find(
    ({ kind, quantization }) => kind === 'gguf' && nearTypes.includes(quantization),
  );
  return file === undefined ? null : join(path, file.path);
}
