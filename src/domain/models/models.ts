import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { derivedExport } from '../../contract/derived-export.ts';
import type { Facets } from '../../db/search.ts';
import type { Store } from '../../db/store.ts';
import type {
  ListedModel,
  ModelArtifact,
  ModelFilter,
  ModelRow,
  WrittenModel,
} from '../../db/tables/models.ts';
import { AppError } from '../../errors.ts';
import { readTemplate } from '../../inference/template/render.ts';
import type { JobSpec } from '../../trainer/protocol.ts';
import type { Bin, Place } from '../bin/bin.ts';
import type { FrameLog } from '../events/frame-log.ts';
import { defaultName, type IdentityChange } from '../job-record/identity.ts';
import { displayNameOf, type Job } from '../job-record/job.ts';
import { keptConfig, parentOf } from './merged-base.ts';
import { describeModels, isPartial, writeModelFile } from './model-file.ts';

export type Model = ModelRow;
export type { ListedModel } from '../../db/tables/models.ts';

export interface Models {
  list(task?: string): Model[];
  /** The models of a filter, newest first, as a list shows them. */
  search(filter: ModelFilter): ListedModel[];
  /** The values that they can be filtered by. */
  facets(): Facets;
  /** Changes what people call a model; the name that requests use stays. @throws AppError `not_found`. */
  identify(reference: string, change: IdentityChange): Promise<Model>;
  /** Digits are a flat id, anything else a UUID. @throws AppError `not_found`. */
  find(reference: string): Model;
  /** By name or either ID, as in `/v1`. @throws AppError `not_found`. */
  findByName(reference: string): Model;
  /** Whether nothing that can be asked has a name. */
  isFree(name: string): boolean;
  /** Moves the artifacts of a completed job to the model's folder; safe to repeat after a crash. */
  adopt(job: Job, jobDir: string): Promise<WrittenModel>;
  /** Stores an adopted model; called within the transaction that completes its job. */
  insert(model: WrittenModel): Model;
  /** Writes the descriptions that the folders of models lack, such as those of earlier versions. */
  describe(): Promise<void>;
  /** Whether a model that is about to be deleted will be kept. */
  placeOf(model: Model, permanently?: boolean): Promise<Place>;
  /** Deletes a model with its files, which must no longer be in use. @returns its ID in the bin, if it is kept. */
  remove(model: Model, place: Place): Promise<string | null>;
  /** The absolute path of a file, or `null` if the model has none of this kind. */
  fileOf(model: Model, kind: ModelArtifact['kind']): string | null;
  /** What is told of the template that a model is asked with. */
  templateOf(model: Model): Promise<TemplateFacts>;
}

export function createModels(options: {
  store: Store;
  frames: FrameLog;
  bin: Bin;
  modelsDir: string;
  /** Whether a name already stands for a model of another service. */
  isReserved?: (name: string) => boolean;
}): Models {
  const { store, frames, bin, modelsDir, isReserved = () => false } = options;

  const missing = (reference: string) =>
    new AppError('not_found', `There is no model with the ID ${reference.slice(0, 200)}.`);

  function find(reference: string): Model {
    const model = /^\d{1,15}$/.test(reference)
      ? store.models.byId(Number(reference))
      : store.models.byModelId(reference);
    if (model === null) throw missing(reference);
    return model;
  }

  const isFree = (name: string) => store.models.byName(name) === null && !isReserved(name);
  const nameFor = (baseModel: string, datasetName: string) => freeName(isFree, baseModel, datasetName);

  return {
    list: (task) => store.models.list(task),
    search: (filter) => store.models.find(filter),
    facets: () => store.models.facets(),

    async identify(reference, change) {
      const before = this.find(reference);
      const { displayName, notes = before.notes, tags = before.tags } = change;
      const model: Model = { ...before, displayName: nameOf(before, displayName), notes, tags };
      store.models.setNames(model.id, model);
      await writeModelFile(model);
      frames.send('identity', null, {
        model_id: model.modelId,
        display_name: model.displayName,
        notes,
        tags,
      });
      return model;
    },

    find,
    isFree,

    findByName(reference) {
      const model = store.models.byName(reference) ?? store.models.byModelId(reference);
      return model ?? find(reference);
    },

    async adopt(job, jobDir) {
      const path = join(modelsDir, job.modelId);
      const from = join(jobDir, 'artifacts');
      // If it exists, the service ended between this step and the transaction.
      if (!existsSync(path) || existsSync(from)) {
        await rm(path, { recursive: true, force: true });
        await rename(from, path);
      }
      const spec = job.spec as JobSpec;
      const model = {
        modelId: job.modelId,
        jobId: job.id,
        name: store.fineTuning.getJob(job.id)?.modelName ?? nameFor(originOf(job), job.datasetName),
        baseModel: job.modelName,
        task: job.task,
        provider: job.provider,
        strategy: job.strategy,
        datasetName: job.datasetName,
        createdAt: job.endedAt ?? new Date().toISOString(),
        sizeBytes: await folderBytes(path),
        path,
        config: keptConfig(spec),
        metrics: job.resultMetrics ?? {},
        verification: job.verification,
        export: job.export ?? derivedExport(job.artifacts),
        artifacts: job.artifacts.map(({ kind, path: file, bytes, quantization }) => ({
          kind,
          path: file.replace(/^artifacts\//, ''),
          bytes,
          quantization,
        })),
        displayName: displayNameOf(job),
        notes: '',
        tags: job.tags,
      };
      await writeModelFile(model);
      return model;
    },

    insert(model) {
      const named = isFree(model.name)
        ? model
        : { ...model, name: nameFor(model.baseModel, model.datasetName) };
      return store.models.byId(store.models.insert(named)) as Model;
    },

    describe: () => describeModels(store.models.find({}), store.models.byModelId),

    placeOf: ({ path }, permanently) => bin.place([path], permanently),

    remove: (model, place) =>
      bin.discard(place, {
        kind: 'model',
        ref: model.modelId,
        name: model.displayName,
        rows: [{ table: 'models', column: 'id', value: model.id }],
        remove(emit) {
          store.models.remove(model.id);
          emit('model', null, { action: 'deleted', model_id: model.modelId, id: model.id, name: model.name });
        },
      }),

    templateOf: (model) => readTemplateFacts(fileOf(model, 'template')),

    fileOf,
  };
}

/** `<base>-<dataset>`, with a number appended if the name is taken. */
export function freeName(isFree: (name: string) => boolean, baseModel: string, datasetName: string): string {
  const stem = `${basename(baseModel)}-${datasetName.replace(/\.jsonl$/i, '')}`
    .slice(0, 150)
    // The cut may have left half a character.
    .replace(/[\ud800-\udbff]$/, '');
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? stem : `${stem}-${count}`;
    if (isFree(name)) return name;
  }
}

function fileOf(model: Model, kind: ModelArtifact['kind']): string | null {
  const artifact = model.artifacts.find((candidate) => candidate.kind === kind);
  return artifact === undefined ? null : join(model.path, artifact.path);
}

/** What a model is named by beside its dataset: the folder of a base that was made of a parent says nothing. */
function originOf({ modelName, spec }: Job): string {
  const parent = parentOf(spec);
  return parent === null || parent.how === 'adapter' ? modelName : parent.name;
}

/** What is told of a `template.json`. */
export interface TemplateFacts {
  /** Whether it is the base model's own chat template. */
  readonly isOwn: boolean;
  /** The most tokens of a prompt and its answer; `null` if it is not known. */
  readonly contextTokens: number | null;
  /** Why it takes no tools; `null` if it takes them, or is not known. */
  readonly toolsFault: string | null;
}

/** @param path `null` if there is none. */
export async function readTemplateFacts(path: string | null): Promise<TemplateFacts> {
  const text = path === null ? '{}' : await readFile(path, 'utf8').catch(() => '{}');
  const { source, context_length: tokens } = JSON.parse(text) as Record<string, unknown>;
  const template = path === null ? null : await readTemplate(path).catch(() => null);
  return {
    isOwn: source === 'model',
    contextTokens: typeof tokens === 'number' ? tokens : null,
    toolsFault: template?.toolsFault() ?? null,
  };
}

/** The name after a change, of which `null` is the default. */
const nameOf = (model: Model, wanted: string | null | undefined) =>
  wanted === null ? defaultName(model.datasetName, model.config) : (wanted ?? model.displayName);

/** The bytes of the files in a folder, without those that are being written. */
export async function folderBytes(path: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
    if (entry.isFile() && !isPartial(relative(path, join(entry.parentPath, entry.name))))
      bytes += (await stat(join(entry.parentPath, entry.name))).size;
  }
  return bytes;
}
