import { existsSync } from 'node:fs';
import { readLines } from '../datasets/rows/read-lines.ts';
import { rowDigest } from '../datasets/rows/row-digest.ts';

/**
 * How many rows of a JSONL file are in another one with the same fields; 0 if the other one is gone. In memory of the
 * first file's rows, 28 characters each.
 */
export async function countKnownRows(
  path: string,
  other: string,
  fields: readonly string[],
): Promise<number> {
  if (!existsSync(other)) return 0;
  const digestOf = (text: string) => rowDigest(text, fields).toString('base64');
  const counts = new Map<string, number>();
  for await (const { text } of readLines(path, Number.POSITIVE_INFINITY)) {
    if (text.trim() === '') continue;
    const digest = digestOf(text);
    counts.set(digest, (counts.get(digest) ?? 0) + 1);
  }
  let known = 0;
  for await (const { text } of readLines(other, Number.POSITIVE_INFINITY)) {
    if (text.trim() === '') continue;
    const digest = digestOf(text);
    known += counts.get(digest) ?? 0;
    counts.delete(digest);
    if (counts.size === 0) break;
  }
  return known;
}

/**
 * A warning that a model was trained on rows that it is measured on; `null` if it was not.
 * @param isSplit whether the training held out some of its dataset's rows.
 */
export function knownRowsWarning(known: number, rows: number, isSplit: boolean): string | null {
  if (known === 0) return null;
  const which =
    known < rows
      ? `${known.toLocaleString('en')} of the ${rows.toLocaleString('en')} rows are`
      : rows === 1
        ? 'The row is'
        : `All ${rows.toLocaleString('en')} rows are`;
  const where = `${which} in the dataset that the model was trained on`;
  return isSplit
    ? `${where}, of which it held out a part. Unless they are in that part, the figures are better than they would be on new rows.`
    : `${where}, so the figures are better than they would be on new rows.`;
}
