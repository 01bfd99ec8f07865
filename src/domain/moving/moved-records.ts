import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import * as v from 'valibot';

const text = v.string();
const said = v.nullable(text);
const known = v.nullable(v.number());

export const fileStates = ['listed', 'downloading', 'stored', 'unavailable'] as const;

/** A file of the other service, and the dataset that it became. */
export const movedFile = v.object({
  id: text,
  filename: text,
  purpose: text,
  bytes: v.number(),
  created_at: text,
  state: v.picklist(fileStates),
  dataset: said,
  /** Why it is unavailable, or what is wrong with its rows. */
  problem: said,
});
export type MovedFile = v.InferOutput<typeof movedFile>;

/** The settings and the result of a fine-tuning job of the other service. */
export const movedJob = v.object({
  id: text,
  created_at: text,
  finished_at: said,
  status: text,
  model: text,
  fine_tuned_model: said,
  method: text,
  /** Numbers, or `auto`. */
  hyperparameters: v.record(text, v.union([v.number(), text])),
  seed: known,
  suffix: said,
  /** Of the method `reinforcement`. */
  grader: v.optional(v.nullable(v.record(text, v.unknown())), null),
  response_format: v.optional(v.nullable(v.record(text, v.unknown())), null),
  training_file: text,
  validation_file: said,
  result_files: v.array(text),
  /** Those of the last checkpoint, and the last ones of the result files. */
  metrics: v.nullable(v.record(text, known)),
});
export type MovedJob = v.InferOutput<typeof movedJob>;

/** An eval of the other service, which has the same ID here. */
export const movedEval = v.object({
  id: text,
  name: text,
  state: v.picklist(['listed', 'stored', 'unavailable']),
  /** How many of its runs are here. */
  runs: v.number(),
  /** Why it is unavailable, or what of it is not here. */
  problem: said,
});
export type MovedEval = v.InferOutput<typeof movedEval>;

const records = v.object({
  version: v.literal(1),
  files: v.array(movedFile),
  jobs: v.array(movedJob),
  evals: v.optional(v.array(movedEval), []),
});
export type MovedRecords = Omit<v.InferOutput<typeof records>, 'version'>;

/** What earlier moves stored; empty if nothing, or if the file is damaged: then files are downloaded again. */
export async function readRecords(path: string): Promise<MovedRecords> {
  try {
    return v.parse(records, JSON.parse(await readFile(path, 'utf8')));
  } catch {
    return { files: [], jobs: [], evals: [] };
  }
}

/** Writes them atomically. */
export async function writeRecords(path: string, changed: MovedRecords): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const aside = `${path}.partial`;
  try {
    await writeFile(aside, `${JSON.stringify({ version: 1, ...changed }, null, 2)}\n`);
    await rename(aside, path);
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  }
}
