import { type RowShape, rowShapes } from '../../../contract/rows.ts';
import { isFlagged } from '../rows/pages/row-flag.ts';
import { readLineGroups } from '../rows/read-lines.ts';
import { hasCalls } from '../rows/tool-rules.ts';
import { equalRows } from '../splitting/equal-rows.ts';
import { requireClient } from '../splitting/require-client.ts';
import { answerFields } from './answer-fields.ts';
import { trimmedRow } from './trimmed-row.ts';

/** What of the findings of an analysis can be put right, and which rows can be removed by their flags. */
export const fixes = [
  'exact_duplicates',
  'empty_answers',
  'padded_texts',
  'flagged_rows',
  'unflagged_rows',
] as const;
export type Fix = (typeof fixes)[number];

/** What a cleaning did. */
export interface CleanedRows {
  removed: number;
  changed: number;
}

/**
 * The lines of a dataset with one finding put right: without the rows that repeat an earlier one, without those with an
 * empty answer, or with texts without white space around them; or without the rows that are flagged, or are not.
 * @param done counts what was done.
 * @throws AppError `invalid` once `signal` is aborted.
 */
export async function* cleanRows(
  path: string,
  fix: Fix,
  { shape, rows, flags }: { shape: RowShape; rows: number; flags: ReadonlySet<string> },
  done: CleanedRows,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const fields = rowShapes[shape];
  const groups = fix === 'exact_duplicates' ? await equalRows(path, fields, rows, signal) : null;
  let row = -1;
  const isRemoved = {
    exact_duplicates: () => (groups?.[row] ?? row) !== row,
    empty_answers: (text: string) => hasEmptyAnswer(text, shape),
    flagged_rows: (text: string) => isFlagged({ text }, flags),
    unflagged_rows: (text: string) => !isFlagged({ text }, flags),
  };
  /** What a row becomes; `null` if it is removed. */
  const cleaned = (text: string): string | null => {
    row += 1;
    if (fix === 'padded_texts') return trimmedRow(text, fields);
    return isRemoved[fix](text) ? null : text;
  };
  for await (const lines of readLineGroups(path, Number.POSITIVE_INFINITY)) {
    requireClient(signal);
    const kept: string[] = [];
    for (const { text } of lines) {
      const after = text.trim() === '' ? text : cleaned(text);
      if (after === null) done.removed += 1;
      else kept.push(`${after}\n`);
      if (after !== null && after !== text) done.changed += 1;
    }
    yield Buffer.from(kept.join(''));
  }
}

const isBlank = (value: unknown) => typeof value === 'string' && /^[ \t\r\n]*$/.test(value);

/** Whether an answer that is learned has nothing but white space. */
function hasEmptyAnswer(text: string, shape: RowShape): boolean {
  const row = JSON.parse(text) as Readonly<Record<string, unknown>>;
  if (answerFields[shape].some((field) => isBlank(row[field]))) return true;
  return rowShapes[shape].some((field) => Array.isArray(row[field]) && row[field].some(isEmptyAnswer));
}

const isEmptyAnswer = (message: Readonly<Record<string, unknown>>) =>
  message.role === 'assistant' && isBlank(message.content) && message.weight !== 0 && !hasCalls(message);
