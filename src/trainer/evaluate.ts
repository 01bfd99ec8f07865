import { existsSync, readFileSync } from 'node:fs';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import { spawnDetached } from './processes/process.ts';
import { type Trainer, type TrainerCommand, trainerEnvironment } from './processes/supervisor.ts';
import type { JobSpec } from './protocol.ts';

/** What `python -m trainer evaluate` reads beside the specification (docs/job-folder.md). */
export interface EvaluationOrder {
  /** The folder of an adapter, or `null` to score the base model. */
  readonly adapter: string | null;
  /** The prompt template of its training, or `null` for the base model's own. */
  readonly template: string | null;
  /** Of how many of the first rows the results are kept. */
  readonly kept_rows: number;
  /** The definitions of what scores the answers, by name. */
  readonly graders: Readonly<Record<string, unknown>>;
}

/** The result of a row, with its texts cut. */
export const rowResult = v.object({
  line: v.number(),
  prompt: v.string(),
  /** The answer that is wanted; `null` for rows of text. */
  reference: v.nullable(v.string()),
  /** That of a preference. */
  rejected: v.nullable(v.string()),
  /** The model's; `null` if none was generated. */
  answer: v.nullable(v.string()),
  figures: v.record(v.string(), v.number()),
  /** What each grader says of its score, by its name; absent in results of earlier versions. */
  notes: v.optional(v.record(v.string(), v.string())),
});
export type RowResult = v.InferOutput<typeof rowResult>;

const results = v.array(rowResult);
const adapterBase = v.object({ path: v.string(), base: v.string(), base_path: v.nullable(v.string()) });
const specModel = v.object({
  model: v.object({
    name: v.string(),
    path: v.nullable(v.string()),
    adapter: v.exactOptional(adapterBase),
  }),
});
/** The files that a process starts from. */
const startsFrom: readonly string[] = ['spec.json', 'dataset.jsonl', 'evaluate.json'];

const specIn = (folder: string) => join(folder, 'spec.json');

/** Whether the folder of an evaluation is complete. */
export const isPrepared = (folder: string): boolean => existsSync(join(folder, 'evaluate.json'));

/** Writes the order into a folder that has its specification. */
export const writeOrder = (folder: string, order: EvaluationOrder): Promise<void> =>
  writeFile(join(folder, 'evaluate.json'), `${JSON.stringify(order, null, 2)}\n`);

/**
 * Starts the process that scores the rows in a folder.
 * @param secrets those of a download (`downloadSecrets`), if the model may have to be downloaded.
 * @param devices variables that say which devices it may use.
 */
export function startEvaluation(
  command: TrainerCommand,
  folder: string,
  secrets: Record<string, string> | null,
  devices: NodeJS.ProcessEnv,
): Promise<Trainer> {
  return spawnDetached([command.pythonPath, '-m', 'trainer', 'evaluate', specIn(folder)], {
    cwd: folder,
    env: { ...trainerEnvironment(command, secrets), ...devices },
    logPath: join(folder, 'log.txt'),
  });
}

/** The results of the rows that a completed process has left. @throws if there are none. */
export const readResults = (folder: string): RowResult[] =>
  v.parse(results, JSON.parse(readFileSync(join(folder, 'rows.json'), 'utf8')));

/** The base model of an evaluation. */
export const modelIn = (folder: string): JobSpec['model'] =>
  v.parse(specModel, JSON.parse(readFileSync(specIn(folder), 'utf8'))).model;

/** Leaves in a folder only what a process starts from. */
export async function cleanFolder(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (!startsFrom.includes(name)) await rm(join(folder, name), { recursive: true, force: true });
}
