import { refusalOf } from '../../../faults.ts';
import { readLineGroups } from './read-lines.ts';
import { placeBefore } from './row-index.ts';
import { maximumLineBytes } from './row-validator.ts';

/** A line of a file as it is written, by its number from 1; `null` if there is none. @throws AppError `invalid` if it is too long. */
export async function readRow(path: string, wanted: number, signal: AbortSignal): Promise<string | null> {
  if (wanted < 1) return null;
  // Blank lines have numbers, but are no rows, so the row of this number may come later.
  const place = await placeBefore(path, wanted - 1, signal);
  const from = place.line <= wanted ? place : { line: 1, offset: 0 };
  let before = from.line;
  for await (const group of readLineGroups(path, maximumLineBytes, from.offset)) {
    const line = group[wanted - before];
    if (line?.isCut) throw refusalOf('line', `Line ${wanted} is longer than ${maximumLineBytes} bytes.`);
    if (line !== undefined) return line.text;
    before += group.length;
    if (signal.aborted) return null;
  }
  return null;
}
