import type { Line } from '../read-lines.ts';
import { isFlagged } from './row-flag.ts';

/** Rows as they are displayed. */
export interface ShownRows {
  /** Parsed; a line that is not JSON becomes `{ line }`. */
  readonly rows: readonly unknown[];
  /** The places in `rows` of those that are displayed in part. */
  readonly cut: readonly number[];
  /** The places in `rows` of those that are flagged. */
  readonly flagged: readonly number[];
  /** The numbers of their lines, from 1. */
  readonly lines: readonly number[];
}

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

/** Collects the rows of a page. @param count the most of them. */
export function createPage(count: number, flags: ReadonlySet<string>) {
  const rows: unknown[] = [];
  const cut: number[] = [];
  const flagged: number[] = [];
  const lines: number[] = [];
  let length = 0;
  let readLength = 0;
  return {
    shown: { rows, cut, flagged, lines } satisfies ShownRows,
    isFull: () => rows.length >= count || length >= pageLength || readLength >= pageReadLength,
    add(line: Line, number: number) {
      const shown = line.isCut ? beginningOf(line.text) : display(line.text);
      if (shown.isCut) cut.push(rows.length);
      if (isFlagged(line, flags)) flagged.push(rows.length);
      rows.push(shown.row);
      lines.push(number);
      length += shown.length;
      readLength += line.text.length;
    },
  };
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
