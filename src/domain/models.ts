import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, join, sep } from 'node:path';
import type { ModelArtifact, ModelRow } from '../db/models.ts';
import type { Store } from '../db/store.ts';
import { AppError } from '../errors.ts';
import type { JobSpec } from '../trainer/protocol.ts';
import type { Frames } from './frames.ts';
import type { Job } from './job.ts';
import { unfinishedStates } from './job-states.ts';

export type Model = ModelRow;

export interface Models {
  list(task?: string): Model[];
  /** Digits are a flat id, anything else a UUID. @throws AppError `not_found`. */
  find(reference: string): Model;
  /** By name or by either id, as clients of `/v1` name models. @throws AppError `not_found`. */
  findByName(reference: string): Model;
  /** Puts the artifacts of a completed job in the model's place; may be repeated after a crash. */
  adopt(
    job: Job,
    jobDir: string,
    metrics: Model['metrics'],
    verification: Model['verification'],
  ): Promise<Omit<Model, 'id'>>;
  /** Stores an adopted model; called within the transaction that completes its job. */
  insert(model: Omit<Model, 'id'>): Model;
  /** @throws AppError `not_found`, or `conflict` while it answers or is trained on. */
  remove(reference: string): Promise<Model>;
  /** The absolute path of a file, or `null` where the model has none of this kind. */
  fileOf(model: Model, kind: ModelArtifact['kind']): string | null;
  /** Whether a model was trained with the chat template that its base brought. */
  hasChatTemplate(model: Model): Promise<boolean>;
}

/** Frees a model's file before it is deleted; refuses while it is in use. */
export type Release = (model: Model) => Promise<void>;

export function createModels(options: {
  store: Store;
  frames: Frames;
  modelsDir: string;
  release: Release;
}): Models {
  const { store, frames, modelsDir } = options;

  const missing = (reference: string) =>
    new AppError('not_found', `There is no model with the id ${reference.slice(0, 200)}.`);

  /** `<base>-<dataset>`, with a number behind it when the name is taken. */
  function nameFor(baseModel: string, datasetName: string): string {
    const stem = `${basename(baseModel)}-${datasetName.replace(/\.jsonl$/i, '')}`.slice(0, 150);
    for (let count = 1; ; count += 1) {
      const name = count === 1 ? stem : `${stem}-${count}`;
      if (store.models.byName(name) === null) return name;
    }
  }

  return {
    list: (task) => store.models.list(task),

    find(reference) {
      const model = /^\d{1,15}$/.test(reference)
        ? store.models.byId(Number(reference))
        : store.models.byModelId(reference);
      if (model === null) throw missing(reference);
      return model;
    },

    findByName(reference) {
      const model = store.models.byName(reference) ?? store.models.byModelId(reference);
      return model ?? this.find(reference);
    },

    async adopt(job, jobDir, metrics, verification) {
      const path = join(modelsDir, job.modelId);
      const from = join(jobDir, 'artifacts');
      // Where it already is, the service ended between this step and the database's.
      if (!existsSync(path) || existsSync(from)) {
        await rm(path, { recursive: true, force: true });
        await rename(from, path);
      }
      const spec = job.spec as JobSpec;
      return {
        modelId: job.modelId,
        jobId: job.id,
        name: '',
        baseModel: job.modelName,
        task: job.task,
        provider: job.provider,
        strategy: job.strategy,
        datasetName: job.datasetName,
        createdAt: new Date().toISOString(),
        sizeBytes: await folderBytes(path),
        path,
        config: { ...spec.settings },
        metrics,
        verification,
        artifacts: job.artifacts.map(({ kind, path: file, bytes, quantization }) => ({
          kind,
          path: file.replace(/^artifacts\//, ''),
          bytes,
          quantization,
        })),
      };
    },

    insert(model) {
      const named = { ...model, name: nameFor(model.baseModel, model.datasetName) };
      return { ...named, id: store.models.insert(named) };
    },

    async remove(reference) {
      const model = this.find(reference);
      const user = store.jobs
        .inStates(unfinishedStates)
        .find(({ modelName }) => modelName === model.path || modelName.startsWith(model.path + sep));
      if (user !== undefined) {
        throw new AppError(
          'conflict',
          `The model ${model.name} is being trained on by train_${user.id}. Stop that first.`,
        );
      }
      await options.release(model);
      frames.commit((emit) => {
        store.models.remove(model.id);
        emit('model', null, { action: 'deleted', model_id: model.modelId, id: model.id, name: model.name });
      });
      await rm(model.path, { recursive: true, force: true });
      return model;
    },

    async hasChatTemplate(model) {
      const path = this.fileOf(model, 'template');
      if (path === null) return false;
      const text = await readFile(path, 'utf8').catch(() => '{}');
      return (JSON.parse(text) as { source?: unknown }).source === 'model';
    },

    fileOf(model, kind) {
      const artifact = model.artifacts.find((candidate) => candidate.kind === kind);
      return artifact === undefined ? null : join(model.path, artifact.path);
    },
  };
}

async function folderBytes(path: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name))).size;
  }
  return bytes;
}
