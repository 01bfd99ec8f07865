import { createReadStream } from 'node:fs';
import type { RowShape } from '../../../contract/rows.ts';
import { refusal, refusalOf } from '../../../faults.ts';
import { createRowValidator } from '../rows/row-validator.ts';

/** A line, by its number from 1, and what it is to be: JSON, as it is written. */
export interface LineText {
  readonly line: number;
  readonly text: string;
}

/** Edits of a file's lines; all numbers are those before the edits. */
export interface RowEdits {
  readonly changes: readonly LineText[];
  /** Lines that come before those that have their numbers, or behind the last one. */
  readonly insertions: readonly LineText[];
  readonly deletions: readonly number[];
}

/** What is done at a line. */
interface Point {
  readonly line: number;
  readonly inserted: string[];
  /** What takes the line's place: '' for nothing, `null` for the line itself. */
  replaced: string | null;
}

const pieceBytes = 2 ** 20;
const lineFeed = 0x0a;

/** @throws AppError `invalid` for rows that are not valid; lines that are put back are as they were. */
export function checkEdits({ changes, insertions, deletions }: RowEdits, shape: RowShape | null): void {
  const replaced = [...changes.map(({ line }) => line), ...deletions];
  const twice = replaced.find((line, place) => replaced.indexOf(line) !== place);
  if (twice !== undefined) throw refusalOf('changes', `Line ${twice} is edited twice.`);
  for (const { line, text } of [...changes, ...insertions]) {
    if (text.includes('\n')) throw refusalOf('changes', `Line ${line}: a row is written on one line.`);
  }
  if (insertions.some(({ text }) => text.trim() === '')) throw refusalOf('insertions', 'A line is blank.');
  const faults = changes.flatMap(({ line, text }) => {
    const validator = createRowValidator(shape === null ? null : [shape]);
    validator.push(Buffer.from(`${text}\n`));
    const { errors, numExamples } = validator.finish();
    const messages = errors.filter((error) => error.line !== null).map(({ message }) => message);
    const all = numExamples === 0 ? ['Line 1: the row is blank; delete it instead'] : messages;
    return all.map((message) => message.replace(/^Line 1:/, `Line ${line}:`));
  });
  if (faults.length === 0) return;
  const told = faults.slice(0, 5).map((msg) => ({ loc: ['body', 'changes'], msg, type: 'value_error' }));
  throw refusal(told);
}

/** @throws AppError `invalid` for a line that is not there, or is blank. */
export async function* withEdits(path: string, edits: RowEdits): AsyncGenerator<Buffer> {
  const points = pointsOf(edits);
  let line = 1;
  /** Whether a line begins here. */
  let isStart = true;
  /** The line that is left out; `hasRow` once it is not blank. */
  let left: { hasRow: boolean } | null = null;
  const texts = ({ inserted, replaced }: Point) =>
    Buffer.from([...inserted, ...(replaced ? [replaced] : [])].map((text) => `${text}\n`).join(''));
  const requireRow = () => {
    if (left?.hasRow === false) throw refusalOf('changes', `Line ${line} is blank, so there is no row.`);
  };
  for await (const piece of createReadStream(path, { highWaterMark: pieceBytes }) as AsyncIterable<Buffer>) {
    /** Where the bytes begin that stay as they are. */
    let kept = 0;
    let at = 0;
    while (at < piece.length && (points.length > 0 || left !== null)) {
      const [point] = points;
      if (isStart && point?.line === line) {
        points.shift();
        if (at > kept) yield piece.subarray(kept, at);
        kept = at;
        yield texts(point);
        if (point.replaced !== null) left = { hasRow: false };
      }
      const end = piece.indexOf(lineFeed, at);
      const past = end < 0 ? piece.length : end + 1;
      if (left !== null) {
        left.hasRow ||= piece.subarray(at, past).some((byte) => byte > 0x20);
        kept = past;
      }
      isStart = end >= 0;
      if (isStart) {
        requireRow();
        left = null;
        line += 1;
      }
      at = past;
    }
    if (kept < piece.length) yield piece.subarray(kept);
  }
  requireRow();
  const missing = points.find(({ replaced }) => replaced !== null);
  if (missing !== undefined) throw refusalOf('changes', `There is no line ${missing.line}.`);
  if (points.length > 0 && !isStart && left === null) yield Buffer.from('\n');
  for (const point of points) yield texts(point);
}

/** The edits by line, in order. */
function pointsOf({ changes, insertions, deletions }: RowEdits): Point[] {
  const points = new Map<number, Point>();
  const at = (line: number): Point => {
    const point = points.get(line) ?? { line, inserted: [], replaced: null };
    points.set(line, point);
    return point;
  };
  for (const { line, text } of changes) at(line).replaced = text;
  for (const line of deletions) at(line).replaced = '';
  for (const { line, text } of insertions) at(line).inserted.push(text);
  return [...points.values()].sort((a, b) => a.line - b.line);
}
