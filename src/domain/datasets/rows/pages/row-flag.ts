import { createHash } from 'node:crypto';
import { refusalOf } from '../../../../faults.ts';
import { readRow } from '../read-row.ts';

/** What flags a row: equal lines are flagged together, whatever is between them. */
export const rowFlag = (line: string): string => createHash('sha1').update(line.trim()).digest('hex');

export const isFlagged = ({ text }: { readonly text: string }, flags: ReadonlySet<string>): boolean =>
  flags.size > 0 && flags.has(rowFlag(text));

/** What flags the rows at some lines of a file. @throws AppError `invalid` for a line that is no row. */
export async function rowFlags(
  path: string,
  lines: readonly number[],
  signal: AbortSignal,
): Promise<string[]> {
  const flags: string[] = [];
  for (const line of lines) {
    const text = await readRow(path, line, signal);
    if (text === null || text.trim() === '') throw refusalOf('flagged', `Line ${line} is no row.`);
    flags.push(rowFlag(text));
  }
  return flags;
}
