import { isBlank, readLineGroups } from '../read-lines.ts';
import { placeBefore } from '../row-index.ts';
import { maximumLineBytes } from '../row-validator.ts';
import { isFlagged } from './row-flag.ts';
import { type RowFilter, type RowOrder, readInOrder } from './row-order.ts';
import { rowSearch } from './row-search.ts';
import { createPage, type ShownRows } from './shown-rows.ts';

/** Some rows of a dataset, as they are displayed. */
export interface RowPage extends ShownRows {
  /** The number of the row to go on with, from 0, or its place in the order; `null` at the end. */
  readonly next: number | null;
  /** How many rows there are of those that were looked for; `null` if not all of the file was read. */
  readonly total: number | null;
  /** The length of each of `rows` if they are in its order. */
  readonly lengths: readonly number[] | null;
}

/** What of a file to read. */
export interface RowsWanted {
  /** The number of the first row, from 0, or its place in the order. */
  readonly from: number;
  /** The most rows; fewer are read where they are long. */
  readonly count: number;
  /** Only rows with this text in a value, in upper or lower case. */
  readonly search?: string | undefined;
  /** Only the rows at these lines, by number from 1. */
  readonly lines?: ReadonlySet<number> | undefined;
  /** The rows that are flagged (`rowFlag`). */
  readonly flags?: ReadonlySet<string> | undefined;
  /** Only these. */
  readonly flagged?: boolean | undefined;
  /** The order of the rows; by default that of the file. */
  readonly order?: RowOrder | undefined;
  /** Ends the reading with what was found. */
  readonly signal?: AbortSignal | undefined;
}

/** Some rows of a file. */
export async function readRowPage(path: string, wanted: RowsWanted): Promise<RowPage> {
  const { from, count, search, lines: only, flags = new Set(), flagged = false, order, signal } = wanted;
  const holds = search === undefined ? null : rowSearch(search);
  const has: RowFilter | null =
    holds === null && only === undefined && !flagged
      ? null
      : (line, number) =>
          only?.has(number) !== false && holds?.(line) !== false && (!flagged || isFlagged(line, flags));
  const page = createPage(count, flags);
  if (order !== undefined) {
    const filter = { has, key: JSON.stringify([search, only && [...only], flagged && [...flags]]) };
    const ordered = await readInOrder(path, order, filter, signal);
    let at = from;
    const lengths: number[] = [];
    for await (const row of ordered.rows(from)) {
      if (page.isFull()) break;
      page.add(row.line, row.number);
      lengths.push(row.length);
      at += 1;
    }
    return { ...page.shown, lengths, next: at < ordered.total ? at : null, total: ordered.total };
  }
  const place = await placeBefore(path, from, signal);
  let number = place.row;
  let lineNumber = place.line - 1;
  const ended = { ...page.shown, lengths: null, next: null, total: null };
  for await (const group of readLineGroups(path, maximumLineBytes, place.offset)) {
    for (const line of group) {
      lineNumber += 1;
      if (isBlank(line)) continue;
      if (number >= from) {
        if (page.isFull() && has === null) return { ...ended, next: number };
        if (has === null || has(line, lineNumber)) {
          if (page.isFull()) return { ...ended, next: number };
          page.add(line, lineNumber);
        }
      }
      number += 1;
    }
    if (signal?.aborted) return { ...ended, next: number };
  }
  return { ...ended, total: from > 0 ? null : page.shown.rows.length };
}
