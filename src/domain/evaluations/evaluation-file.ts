import { existsSync, readFileSync, rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import { evaluationStates } from '../../contract/evaluations.ts';
import type { EvaluationRow, EvaluationStore } from '../../db/tables/evaluations.ts';
import { rowResult } from '../../trainer/evaluate.ts';
import { readRecords, writeRecord } from '../job-record/record-files.ts';
import { evaluationName } from './evaluation.ts';

/*
 * Beside the folders of evaluations, what the database says of each, for when the database is lost
 * (docs/job-folder.md).
 */

const file = v.object({
  evaluation: v.object({
    id: v.pipe(v.number(), v.integer(), v.minValue(1)),
    state: v.picklist(evaluationStates),
    subject: v.object({
      name: v.string(),
      baseModel: v.string(),
      modelId: v.nullable(v.string()),
      jobId: v.nullable(v.number()),
      checkpoint: v.nullable(v.number()),
    }),
    dataset: v.string(),
    rowsDigest: v.nullable(v.string()),
    shape: v.string(),
    rows: v.number(),
    figures: v.nullable(v.record(v.string(), v.nullable(v.number()))),
    warnings: v.array(v.string()),
    error: v.nullable(v.string()),
    createdAt: v.string(),
    startedAt: v.nullable(v.string()),
    endedAt: v.nullable(v.string()),
  }),
  results: v.array(rowResult),
});

const filePattern = /^eval_[1-9]\d{0,14}\.json$/;

/** The name of an evaluation's file. */
export const evaluationFileName = (id: number): string => `${evaluationName(id)}.json`;

/** The rows that an evaluation's dataset had, as long as the evaluation is there: a link, which takes no space of its own. */
export const evaluationRowsName = (id: number): string => `${evaluationName(id)}.rows.jsonl`;

/** The table of evaluations, each of whose changes is also written to the evaluation's file. */
export interface FiledEvaluations extends EvaluationStore {
  /** Writes the files that are missing, as after an update of Hone. */
  describeAll(): Promise<void>;
}

/** @param onProblem called when a file cannot be written, as on a full disk; the change itself is stored. */
export function withFiles(
  store: EvaluationStore,
  dir: string,
  onProblem: (id: number, error: Error) => void,
): FiledEvaluations {
  const pathOf = (id: number) => join(dir, evaluationFileName(id));
  function write(id: number): void {
    const evaluation = store.get(id);
    if (evaluation === null) return;
    try {
      writeRecord(pathOf(id), { evaluation, results: store.results(id) });
    } catch (error) {
      onProblem(id, error as Error);
    }
  }
  return {
    ...store,
    insert(evaluation) {
      const id = store.insert(evaluation);
      write(id);
      return id;
    },
    update(id, change) {
      store.update(id, change);
      write(id);
    },
    remove(id) {
      store.remove(id);
      rmSync(pathOf(id), { force: true });
    },
    async describeAll() {
      await mkdir(dir, { recursive: true });
      for (const { id } of store.list()) if (!existsSync(pathOf(id))) write(id);
    },
  };
}

/** @throws Error if the file `name` is damaged. */
function parseFile(content: unknown, name: string): v.InferOutput<typeof file> {
  const parsed = v.parse(file, content);
  const own = evaluationName(parsed.evaluation.id);
  if (name !== own) throw new Error(`it is that of ${own}`);
  return parsed;
}

/** Whether `name` is an evaluation's file that cannot be read. It is the only copy, and somebody may repair it. */
export function isUnreadable(dir: string, name: string): boolean {
  if (!filePattern.test(name)) return false;
  try {
    parseFile(JSON.parse(readFileSync(join(dir, name), 'utf8')), name.slice(0, -'.json'.length));
    return false;
  } catch {
    return true;
  }
}

/**
 * Stores the evaluations that have files, as those say, and drops those that have none.
 * @returns the names of the stored ones and of the dropped ones, and the files that could not be read.
 */
export function registerEvaluations(store: EvaluationStore, dir: string) {
  const found = readRecords(dir, filePattern, (content, name) => {
    const { evaluation, results } = parseFile(content, name);
    store.put(evaluation satisfies EvaluationRow, results);
  });
  // Not if there is nothing at all: then the disk with the files may be missing.
  const gone =
    found.registered.length === 0
      ? []
      : store.list().filter(({ id }) => !existsSync(join(dir, evaluationFileName(id))));
  for (const { id } of gone) store.remove(id);
  return { ...found, dropped: gone.map(({ id }) => evaluationName(id)) };
}
