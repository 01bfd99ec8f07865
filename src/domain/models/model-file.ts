import { existsSync } from 'node:fs';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import * as v from 'valibot';
import { derivedExport } from '../../contract/derived-export.ts';
import type { ListedModel, ModelRow, WrittenModel } from '../../db/tables/models.ts';
import { exportOutcome } from '../../trainer/protocol.ts';

/** What the database says of a model, kept in its folder in case the database is lost (docs/job-folder.md). */
export const modelFileName = 'model.json';
/** Whether a path within a model's folder is that of something that is being written. */
export const isPartial = (path: string): boolean =>
  path.split(/[/\\]/).some((part) => part.endsWith('.partial'));
/** A larger file was not written by Hone. */
const maximumBytes = 2 ** 22;

const text = v.string();
const inside = v.pipe(
  text,
  v.check((path) => !isAbsolute(path) && !path.split(/[/\\]/).includes('..'), 'must lie in the folder'),
);
const fields = v.record(v.string(), v.unknown());
const modelFile = v.object({
  model_id: v.pipe(text, v.uuid()),
  job_id: v.nullable(v.pipe(v.number(), v.integer())),
  name: v.pipe(text, v.minLength(1)),
  base_model: text,
  task: text,
  provider: text,
  strategy: text,
  dataset: text,
  created_at: v.pipe(text, v.isoTimestamp()),
  size_bytes: v.number(),
  config: fields,
  metrics: fields,
  verification: v.nullable(fields),
  artifacts: v.array(
    v.object({ kind: text, path: inside, bytes: v.number(), quantization: v.nullable(text) }),
  ),
  /** This and what follows is absent in files of earlier releases. */
  export: v.optional(exportOutcome),
  display_name: v.optional(text),
  notes: v.optional(text, ''),
  tags: v.optional(v.array(text), []),
});

/** Writes a model's description to its folder; without disk space or the folder, it does nothing. */
export async function writeModelFile(model: WrittenModel): Promise<void> {
  const content: v.InferOutput<typeof modelFile> = {
    model_id: model.modelId,
    job_id: model.jobId,
    name: model.name,
    base_model: model.baseModel,
    task: model.task,
    provider: model.provider,
    strategy: model.strategy,
    dataset: model.datasetName,
    created_at: model.createdAt,
    size_bytes: model.sizeBytes,
    config: model.config,
    metrics: model.metrics,
    verification: model.verification,
    artifacts: [...model.artifacts],
    export: model.export,
    display_name: model.displayName,
    notes: model.notes,
    tags: [...model.tags],
  };
  const path = join(model.path, modelFileName);
  try {
    await writeFile(`${path}.partial`, `${JSON.stringify(content, null, 2)}\n`);
    await rename(`${path}.partial`, path);
  } catch {
    // The next start writes it. A model must not be lost because this file could not be written.
    await rm(`${path}.partial`, { force: true }).catch(() => undefined);
  }
}

/** How many folders are looked at before requests have their turn. */
const folderTurn = 100;

/**
 * Writes the description of every model that has a folder but none, such as those of earlier versions.
 * @param read reads one of them, by its ID, with what a list does not show.
 */
export async function describeModels(
  listed: readonly ListedModel[],
  read: (modelId: string) => ModelRow | null,
): Promise<void> {
  for (const [index, { modelId, path }] of listed.entries()) {
    if (index % folderTurn === folderTurn - 1) await nextTurn();
    // Without a promise this takes a tenth of the time, which requests would have to share.
    if (existsSync(join(path, modelFileName)) || !existsSync(path)) continue;
    const model = read(modelId);
    if (model !== null) await writeModelFile(model);
  }
}

/**
 * Reads the description of the model in a folder.
 * @throws Error if it has none, or not that of this folder.
 */
export async function readModelFile(folder: string): Promise<WrittenModel> {
  const path = join(folder, modelFileName);
  if ((await stat(path)).size > maximumBytes) throw new Error(`${modelFileName} is too large`);
  const found = v.parse(modelFile, JSON.parse(await readFile(path, 'utf8')));
  if (found.model_id !== basename(folder))
    throw new Error(`${modelFileName} is that of another model in ${dirname(folder)}`);
  return {
    modelId: found.model_id,
    jobId: found.job_id,
    name: found.name,
    baseModel: found.base_model,
    task: found.task,
    provider: found.provider,
    strategy: found.strategy,
    datasetName: found.dataset,
    createdAt: found.created_at,
    sizeBytes: found.size_bytes,
    path: folder,
    config: found.config,
    metrics: found.metrics,
    verification: found.verification,
    artifacts: found.artifacts,
    export: found.export ?? derivedExport(found.artifacts),
    displayName: found.display_name ?? found.name,
    notes: found.notes,
    tags: found.tags,
  };
}
