import { isUtf8 } from 'node:buffer';
import { minimumRows, type RowShape, rowShapeNames, rowShapes } from '../../contract/rows.ts';
import { scanRows } from '../../native/scan-rows.ts';

/** An error in a dataset. `line` starts at 1 and is `null` for an error of the whole file. */
export interface RowError {
  readonly line: number | null;
  readonly field: string | null;
  readonly message: string;
}

/** The result of a validation; `errors` has the first 100 of `totalErrors`. */
export interface Validation {
  readonly valid: boolean;
  readonly shape: RowShape | null;
  readonly numExamples: number;
  readonly errors: readonly RowError[];
  readonly totalErrors: number;
}

const maximumErrors = 100;
/** Longer rows are rejected; no model's context could hold them. */
export const maximumLineBytes = 2 ** 24;

/** Deeper values are rejected: Python's JSON parser fails at about 1,000. */
const maximumDepth = 100;

/** Formats of other tools, detected by the fields of the first row. */
const foreignShapes: readonly { readonly name: string; readonly fields: readonly string[] }[] = [
  { name: 'Alpaca', fields: ['instruction', 'output'] },
  { name: 'OpenAI messages', fields: ['messages'] },
  { name: 'ShareGPT', fields: ['conversations'] },
];

/**
 * Validates JSONL in chunks, with memory bounded by the longest line.
 * @param expected the required shape of every row; `null` for that of the first readable row.
 */
export function createRowValidator(expected: RowShape | null) {
  let shape = expected;
  let line = 0;
  let numExamples = 0;
  let totalErrors = 0;
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  const errors: RowError[] = [];

  const fail = (at: number | null, field: string | null, message: string) => {
    totalErrors += 1;
    if (errors.length < maximumErrors)
      errors.push({ line: at, field, message: at === null ? message : `Line ${at}: ${message}` });
  };

  function checkLine(bytes: Buffer): void {
    line += 1;
    const row = readRow(bytes, line);
    if (row === null) return;
    numExamples += 1;
    if (typeof row === 'string') fail(line, null, row);
    else checkRow(row);
  }

  function checkRow(row: Record<string, unknown>): void {
    shape ??= shapeOf(row);
    if (shape === null) {
      fail(line, null, describeUnknown(row));
      return;
    }
    for (const field of rowShapes[shape]) {
      if (!Object.hasOwn(row, field)) fail(line, field, `missing required field "${field}"`);
      else if (typeof row[field] !== 'string') {
        fail(line, field, `field "${field}" must be a string, found ${kindOf(row[field])}`);
      } else if (/\p{Surrogate}/u.test(row[field] as string)) {
        fail(line, field, `field "${field}" ${halfCharacter}`);
      }
    }
  }

  /** Counts valid rows on a fast path, which covers nearly all rows of a valid file. */
  function passOver(chunk: Buffer, start: number): number {
    if (shape === null) return start;
    const { rows, offset } = scanRows(chunk, start, chunk.length, rowShapes[shape]);
    line += rows;
    numExamples += rows;
    return offset;
  }

  return {
    /** Validates the lines that end in this chunk; does not keep references to it. */
    push(chunk: Buffer): void {
      let start = 0;
      const plain = isUtf8(chunk.subarray(chunk.indexOf(0x0a) + 1, chunk.lastIndexOf(0x0a) + 1));
      for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
        const piece = chunk.subarray(start, end);
        if (pendingBytes === 0) checkLine(piece);
        else {
          pending.push(piece);
          checkLine(Buffer.concat(pending));
          pending = [];
          pendingBytes = 0;
        }
        start = end + 1;
        if (plain) start = passOver(chunk, start);
      }
      const rest = chunk.subarray(start);
      // Beyond the limit only the length matters.
      if (rest.length > 0 && pendingBytes <= maximumLineBytes) {
        pending.push(Buffer.from(rest));
        pendingBytes += rest.length;
      }
    },
    finish(): Validation {
      if (pendingBytes > 0) checkLine(Buffer.concat(pending));
      if (numExamples < minimumRows) {
        fail(null, null, `The dataset has ${numExamples} examples; at least ${minimumRows} are needed`);
      }
      return { valid: totalErrors === 0, shape, numExamples, errors, totalErrors };
    },
  };
}

const halfCharacter =
  'contains half of a surrogate pair (such as \\ud83d without \\ude00), which is no character; remove it';

/** Whether a parsed value has arrays or objects in more than `levels` levels. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

const kindOf = (value: unknown) =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'an array'
      : `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`;

/** A line's row, `null` for a blank line, or an error message. */
function readRow(bytes: Buffer, line: number): Record<string, unknown> | string | null {
  if (bytes.length > maximumLineBytes) return `longer than ${maximumLineBytes} bytes; split the row`;
  if (!isUtf8(bytes)) return 'not valid UTF-8; save the file as UTF-8';
  const text = bytes.toString('utf8');
  if (text.trim() === '') return null;
  if (line === 1 && text.charCodeAt(0) === 0xfeff) {
    return 'starts with a byte order mark; save the file as UTF-8 without one';
  }
  let row: unknown;
  try {
    row = JSON.parse(text);
  } catch (error) {
    return `invalid JSON (${(error as Error).message.slice(0, 120)}); write one JSON object per line`;
  }
  const isObject = typeof row === 'object' && row !== null && !Array.isArray(row);
  if (isObject && isDeeper(row, maximumDepth)) {
    return `nested more than ${maximumDepth} levels deep; remove the nested fields`;
  }
  return isObject ? (row as Record<string, unknown>) : `expected a JSON object, found ${kindOf(row)}`;
}

function shapeOf(row: Record<string, unknown>): RowShape | null {
  return rowShapeNames.find((name) => rowShapes[name].every((field) => Object.hasOwn(row, field))) ?? null;
}

function describeUnknown(row: Record<string, unknown>): string {
  const foreign = foreignShapes.find(({ fields }) => fields.every((field) => Object.hasOwn(row, field)));
  const wanted = Object.values(rowShapes)
    .map((fields) => fields.join(' + '))
    .join(', or ');
  if (foreign)
    return `the row is in ${foreign.name} format; convert the dataset (POST /api/datasets/{name}/convert) to the fields ${wanted}`;
  return `found ${Object.keys(row).slice(0, 8).join(', ').slice(0, 200) || 'no fields'}; required: ${wanted}`;
}
