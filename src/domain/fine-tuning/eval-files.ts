import { readFile, stat } from 'node:fs/promises';
import * as v from 'valibot';
import type { EvalFileRow, EvalStore } from '../../db/tables/evals.ts';
import { AppError } from '../../errors.ts';
import { noArray } from '../graders/grader-definition.ts';
import type { FineTuningFile } from './fine-tuning-file.ts';

/** The most rows of a run of an eval, and the most bytes of a file of them. */
export const evalBounds = { rows: 10_000, fileBytes: 32 * 2 ** 20 } as const;

const anything = v.intersect([v.record(v.string(), v.unknown()), noArray]);
/** A row of an eval, with what is known of the answer to it. */
export const evalRow = v.strictObject({
  item: anything,
  sample: v.nullish(
    v.intersect([
      v.looseObject({ output_text: v.nullish(v.string()), output_tools: v.nullish(v.array(anything)) }),
      noArray,
    ]),
  ),
});
export type EvalRow = v.InferOutput<typeof evalRow>;

/**
 * The rows of JSONL.
 * @param asItem whether a row without `item` is one itself, as those of datasets.
 * @throws AppError `invalid` with the line.
 */
export function parseEvalRows(text: string, asItem: boolean): EvalRow[] {
  return text.split('\n').flatMap((line, at) => {
    if (line.trim() === '') return [];
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch (cause) {
      throw new AppError('invalid', `Line ${at + 1} is no JSON.`, { cause });
    }
    const given = asItem && !v.is(evalRow, value) ? { item: value } : value;
    const { success, output, issues } = v.safeParse(evalRow, given);
    if (success) return [output];
    const [issue] = issues;
    throw new AppError('invalid', `Line ${at + 1}: ${v.getDotPath(issue) ?? 'the row'} ${issue.message}.`);
  });
}

/** Files of the purpose `evals`: rows that evals read, and that no training can use. */
export interface EvalFiles {
  /** Stores the file at `path`. @throws AppError `invalid` for what are no rows of an eval, or too many. */
  put(filename: string, path: string, expiresInSeconds: number | null): Promise<FineTuningFile>;
  list(): FineTuningFile[];
  get(id: string): FineTuningFile | null;
  content(id: string): string | null;
  /** @returns whether there was one. */
  remove(id: string): boolean;
  /** Deletes the files whose time is over. */
  tidy(): void;
}

const isOver = ({ expiresAt }: Pick<FineTuningFile, 'expiresAt'>) =>
  expiresAt !== null && Date.parse(expiresAt) <= Date.now();

const present = ({ content: _, ...row }: EvalFileRow & { readonly bytes: number }): FineTuningFile => ({
  ...row,
  purpose: 'evals',
  fault: null,
});

/** @param limit the most files. */
export function createEvalFiles(store: EvalStore, limit: number): EvalFiles {
  const find = (id: string) => {
    const row = store.getFile(id);
    return row === null || isOver(row) ? null : { ...row, bytes: Buffer.byteLength(row.content) };
  };
  return {
    async put(filename, path, seconds) {
      const { size: bytes } = await stat(path);
      if (store.files().filter((file) => !isOver(file)).length >= limit)
        throw new AppError(
          'invalid',
          `There are ${limit} files of rows for evals, and no more are kept: delete some of them.`,
        );
      if (bytes > evalBounds.fileBytes)
        throw new AppError(
          'invalid',
          `A file of rows for evals has at most ${evalBounds.fileBytes >> 20} MiB.`,
        );
      const content = await readFile(path, 'utf8');
      parseEvalRows(content, false);
      const now = Date.now();
      const row = {
        id: `file-${crypto.randomUUID().replaceAll('-', '')}`,
        filename,
        content,
        createdAt: new Date(now).toISOString(),
        expiresAt: seconds === null ? null : new Date(now + seconds * 1000).toISOString(),
      };
      store.putFile(row);
      return present({ ...row, bytes });
    },
    list: () => store.files().map((row) => present({ ...row, content: '' })),
    get(id) {
      const row = find(id);
      return row === null ? null : present(row);
    },
    content: (id) => find(id)?.content ?? null,
    remove(id) {
      const isThere = find(id) !== null;
      store.removeFile(id);
      return isThere;
    },
    tidy() {
      for (const file of store.files()) if (isOver(file)) store.removeFile(file.id);
    },
  };
}
