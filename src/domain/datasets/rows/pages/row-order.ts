import { open } from 'node:fs/promises';
import { isBlank, type Line, readLineGroups } from '../read-lines.ts';
import { maximumLineBytes } from '../row-validator.ts';

/** An order of rows by their lengths. */
export interface RowOrder {
  readonly longestFirst: boolean;
  /** The tokens of each row of the file; `null` to count the characters of its texts. */
  readonly tokens: readonly number[] | null;
  /** What tells these tokens from those of another model. */
  readonly model: string | null;
}

export type RowFilter = (line: Line, number: number) => boolean;

interface Ordered {
  /** The length and the place in `starts` of each row, in their order, in one number each: that is how it is sorted fast. */
  readonly keys: Float64Array;
  /** The bytes at which lines begin, and their numbers. */
  readonly starts: readonly number[];
  readonly lines: readonly number[];
}

const placeCount = 2 ** 28;
/** Longer ones count as this long. */
const longest = 2 ** 24;
/** Orders that are kept, which take 24 bytes a row. */
const keptOrders = 2;
const orders = new Map<string, Ordered>();

/**
 * The rows of a file by length, those of equal length as they are in the file. The file is read once; further pages are
 * read where their rows are.
 * @param filter the rows that are wanted; `key` tells them from others.
 */
export async function readInOrder(
  path: string,
  order: RowOrder,
  filter: { readonly has: RowFilter | null; readonly key: string },
  signal: AbortSignal | undefined,
) {
  const { size, mtimeMs, ino } = await statOf(path);
  const key = JSON.stringify([path, ino, size, mtimeMs, order.longestFirst, order.model, filter.key]);
  const ordered = orders.get(key) ?? (await orderRows(path, order, filter.has, signal));
  orders.delete(key);
  if (signal?.aborted !== true) orders.set(key, ordered);
  for (const oldest of orders.keys()) if (orders.size > keptOrders) orders.delete(oldest);
  const { keys, starts, lines } = ordered;
  return {
    total: keys.length,
    /** @param from the place of the first one. */
    async *rows(from: number): AsyncGenerator<{ line: Line; number: number; length: number }> {
      for (const row of keys.subarray(from)) {
        const place = row % placeCount;
        const found = Math.floor(row / placeCount);
        for await (const [line] of readLineGroups(path, maximumLineBytes, starts[place])) {
          const length = order.longestFirst ? longest - found : found;
          if (line !== undefined) yield { line, number: lines[place] as number, length };
          break;
        }
      }
    },
  };
}

async function statOf(path: string) {
  await using file = await open(path);
  return file.stat();
}

async function orderRows(
  path: string,
  { longestFirst, tokens }: RowOrder,
  has: RowFilter | null,
  signal: AbortSignal | undefined,
): Promise<Ordered> {
  const keys: number[] = [];
  const starts: number[] = [];
  const lines: number[] = [];
  let row = 0;
  let number = 0;
  let start = 0;
  for await (const group of readLineGroups(path, maximumLineBytes)) {
    for (const line of group) {
      number += 1;
      if (!isBlank(line)) {
        if (has === null || has(line, number)) {
          const length = Math.min(tokens === null ? textLength(line) : (tokens[row] ?? 0), longest);
          keys.push((longestFirst ? longest - length : length) * placeCount + starts.length);
          starts.push(start);
          lines.push(number);
        }
        row += 1;
      }
      start += line.bytes + 1;
    }
    if (signal?.aborted) break;
  }
  return { keys: Float64Array.from(keys).sort(), starts, lines };
}

/** The characters of a row's texts; of what is no row, all. */
function textLength({ text, isCut }: Line): number {
  const left: unknown[] = [];
  try {
    left.push(isCut ? text : JSON.parse(text));
  } catch {
    return text.length;
  }
  let length = 0;
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value === 'string') length += value.length;
    else if (typeof value === 'object' && value !== null) {
      for (const inner of Object.values(value)) left.push(inner);
    }
  }
  return length;
}
