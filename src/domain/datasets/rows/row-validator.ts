import { isUtf8 } from 'node:buffer';
import { minimumRows, type RowShape, rowShapeNames, rowShapes } from '../../../contract/rows.ts';
import { scanRows } from '../../../native/scan-rows.ts';
import { conversationFaults } from './conversation-rules.ts';
import { isDeeper, maximumDepth } from './depth.ts';
import { foreignShapeOf } from './foreign-shape.ts';
import { halfCharacter, hasHalfCharacter, kindOf } from './kinds.ts';
import { preferenceFaults } from './preference-rules.ts';
import { toolsFaults } from './tool-rules.ts';

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

/**
 * Validates JSONL in chunks, with memory bounded by the longest line. All rows must have the shape of the first
 * readable one.
 * @param allowed the shapes that it may have; `null` for every shape.
 */
export function createRowValidator(allowed: readonly RowShape[] | null) {
  let shape: RowShape | null = allowed?.length === 1 ? (allowed[0] ?? null) : null;
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
    shape ??= shapeOf(row, allowed);
    if (shape === null) {
      fail(line, null, describeUnknown(row, allowed));
      return;
    }
    for (const field of rowShapes[shape]) {
      const value = row[field];
      if (!Object.hasOwn(row, field)) {
        fail(line, field, `missing required field "${field}"${otherShape(row, shape)}`);
      } else if (field === 'messages') {
        for (const fault of conversationFaults(value, field)) fail(line, field, fault);
      } else if (promptShapes.includes(shape) && Array.isArray(value)) {
        for (const fault of preferenceFaults(value, field)) fail(line, field, fault);
      } else if (field === 'label') {
        if (typeof value !== 'boolean')
          fail(
            line,
            field,
            `field "label" must be true or false, found ${kindOf(value)}; an import reads labels such as up and down`,
          );
      } else if (typeof value !== 'string') {
        const wanted = promptShapes.includes(shape) ? 'a string or a list of messages' : 'a string';
        fail(line, field, `field "${field}" must be ${wanted}, found ${kindOf(value)}`);
      } else if (hasHalfCharacter(value)) {
        fail(line, field, `field "${field}" ${halfCharacter}`);
      }
    }
    if (shape === 'messages' || Array.isArray(row.prompt))
      for (const fault of toolsFaults(row)) fail(line, 'tools', fault);
  }

  /** Counts valid rows on a fast path, which covers nearly all rows of a valid file. */
  function passOver(chunk: Buffer, start: number): number {
    if (shape === null || withoutStrings.includes(shape)) return start;
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

/** Those whose fields may be messages. */
const promptShapes: readonly RowShape[] = ['preference', 'unpaired-preference', 'prompt'];
/** Those with a field that is never a string. */
const withoutStrings: readonly RowShape[] = ['messages', 'unpaired-preference'];

const hasShape = (row: Record<string, unknown>, shape: RowShape) =>
  rowShapes[shape].every((field) => Object.hasOwn(row, field));

/** The first allowed shape that a row has; if it has another, the first allowed one, which names what is missing. */
function shapeOf(row: Record<string, unknown>, allowed: readonly RowShape[] | null): RowShape | null {
  // The prompts of other tools are imported.
  const possible = allowed ?? rowShapeNames.filter((shape) => shape !== 'prompt' || !isForeign(row));
  const found = possible.find((shape) => hasShape(row, shape));
  return found ?? (allowed !== null && !isForeign(row) ? (allowed[0] ?? null) : null);
}

const isForeign = (row: Record<string, unknown>) => foreignShapeOf(row) !== undefined;

/** Names the shape of a row that has another one than it should. */
function otherShape(row: Record<string, unknown>, wanted: RowShape): string {
  const fields: readonly string[] = rowShapes[wanted];
  const other = rowShapeNames.find(
    (shape) => hasShape(row, shape) && !rowShapes[shape].every((field) => fields.includes(field)),
  );
  return other === undefined ? '' : ` (the row is of another shape: ${rowShapes[other].join(', ')})`;
}

function describeUnknown(row: Record<string, unknown>, allowed: readonly RowShape[] | null): string {
  const foreign = foreignShapeOf(row);
  const wanted = (allowed ?? rowShapeNames).map((shape) => rowShapes[shape].join(' + ')).join(', or ');
  if (foreign)
    return `the row is in ${foreign.name} format; import it (POST /api/datasets/{name}/convert) into the fields ${wanted}`;
  return `found ${Object.keys(row).slice(0, 8).join(', ').slice(0, 200) || 'no fields'}; required: ${wanted}`;
}
