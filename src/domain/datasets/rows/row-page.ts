import { type Line, readLineGroups } from './read-lines.ts';
import { placeBefore } from './row-index.ts';
import { rowSearch } from './row-search.ts';
import { maximumLineBytes } from './row-validator.ts';

/** Some rows of a dataset, as they are displayed. */
export interface RowPage {
  /** Parsed; a line that is not JSON becomes `{ line }`. */
  readonly rows: readonly unknown[];
  /** The places in `rows` of those that are displayed in part. */
  readonly cut: readonly number[];
  /** The numbers of their lines, from 1. */
  readonly lines: readonly number[];
  /** The number of the row to go on with, from 0; `null` at the end. */
  readonly next: number | null;
  /** How many rows there are of those that were looked for; `null` if not all of the file was read. */
  readonly total: number | null;
}

const blank = /^[ \t\r]*$/;

/** Characters of a row that are displayed. */
const rowLength = 2 ** 14;
/** A page ends after the row with which it displays, or has read, this number of characters. */
const pageLength = 2 ** 20;
const pageReadLength = 2 ** 26;
const unparsedLength = 1000;
/** Of the fields of a row, this many are displayed at least, each with this many characters at least. */
const leastFields = 64;
const leastLength = 200;
/** Nested values below this depth are left out; recursion has no room for what JSON can nest. */
const maximumDepth = 32;

/** What of a file to read. */
export interface RowsWanted {
  /** The number of the first row, from 0. */
  readonly from: number;
  /** The most rows; fewer are read where they are long. */
  readonly count: number;
  /** Only rows with this text in a value, in upper or lower case. */
  readonly search?: string | undefined;
  /** Only the rows at these lines, by number from 1. */
  readonly lines?: ReadonlySet<number> | undefined;
  /** Ends the reading with what was found. */
  readonly signal?: AbortSignal | undefined;
}

/** Some rows of a file. */
export async function readRowPage(path: string, wanted: RowsWanted): Promise<RowPage> {
  const { from, count, search, lines: only, signal } = wanted;
  const holds = search === undefined ? null : rowSearch(search);
  const has =
    holds === null && only === undefined
      ? null
      : (line: Line) => only?.has(lineNumber) !== false && holds?.(line) !== false;
  const rows: unknown[] = [];
  const cut: number[] = [];
  const lines: number[] = [];
  const place = await placeBefore(path, from, signal);
  let number = place.row;
  let lineNumber = place.line - 1;
  let length = 0;
  let readLength = 0;
  for await (const group of readLineGroups(path, maximumLineBytes, place.offset)) {
    for (const line of group) {
      lineNumber += 1;
      if (!line.isCut && blank.test(line.text)) continue;
      if (number >= from) {
        const isFull = rows.length >= count || length >= pageLength || readLength >= pageReadLength;
        if (isFull && has === null) return { rows, cut, lines, next: number, total: null };
        if (has === null || has(line)) {
          if (isFull) return { rows, cut, lines, next: number, total: null };
          const shown = line.isCut ? beginningOf(line.text) : display(line.text);
          if (shown.isCut) cut.push(rows.length);
          rows.push(shown.row);
          lines.push(lineNumber);
          length += shown.length;
          readLength += line.text.length;
        }
      }
      number += 1;
    }
    if (signal?.aborted) return { rows, cut, lines, next: number, total: null };
  }
  return { rows, cut, lines, next: null, total: from > 0 ? null : rows.length };
}

interface Shown {
  readonly row: unknown;
  readonly length: number;
  readonly isCut: boolean;
}

function beginningOf(text: string): Shown {
  const row = { line: shorten(text, unparsedLength) };
  return { row, length: row.line.length, isCut: text.length > unparsedLength };
}

function display(text: string): Shown {
  let row: unknown;
  try {
    row = JSON.parse(text);
  } catch {
    return beginningOf(text);
  }
  let left = rowLength;
  let isCut = false;
  /** A copy of a value within what is left of the row. */
  const copy = (value: unknown, depth: number): unknown => {
    left -= 4;
    if (typeof value === 'string') {
      const kept = Math.max(depth > 1 ? 0 : leastLength, left);
      left -= value.length;
      if (value.length <= kept) return value;
      isCut = true;
      return `${shorten(value, kept)}… (${value.length} characters)`;
    }
    if (typeof value !== 'object' || value === null) return value;
    if (depth === maximumDepth) {
      isCut = true;
      return '…';
    }
    if (Array.isArray(value)) return within(value, 0, (entry) => copy(entry, depth + 1));
    const entries = within(Object.entries(value), depth === 0 ? leastFields : 0, ([key, entry]) => {
      left -= key.length;
      return [shorten(key, rowLength), copy(entry, depth + 1)];
    });
    return Object.fromEntries(entries);
  };
  function within<T, R>(entries: readonly T[], least: number, one: (entry: T) => R): R[] {
    const copies: R[] = [];
    for (const entry of entries) {
      if (left <= 0 && copies.length >= least) {
        isCut = true;
        break;
      }
      copies.push(one(entry));
    }
    return copies;
  }
  const shown = copy(row, 0);
  return { row: shown, length: rowLength - Math.max(0, left), isCut };
}

/** The beginning of a text, not ending within a surrogate pair. */
function shorten(text: string, length: number): string {
  const end = /[\uD800-\uDBFF]/.test(text.charAt(length - 1)) ? length - 1 : length;
  return text.slice(0, Math.max(0, end));
}
