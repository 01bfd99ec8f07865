import { open } from 'node:fs/promises';

/** Where a row of a file begins. */
export interface RowPlace {
  /** The number of the row, from 0; blank lines are no rows. */
  readonly row: number;
  /** The number of its line, from 1. */
  readonly line: number;
  /** The byte at which the line begins. */
  readonly offset: number;
}

/** Every so many rows, the place of one is kept: 3 numbers for about 300 kB of file. */
const stride = 1000;
const pieceBytes = 2 ** 20;
/** Indexes are kept for the files that were read last. */
const keptFiles = 8;

interface Index {
  readonly identity: string;
  readonly places: RowPlace[];
  /** What follows the part of the file that has been scanned. */
  next: RowPlace;
}

const indexes = new Map<string, Index>();

/**
 * The last known place at or before the row number `from` (0 is the first), so that a row deep in a file is found without
 * reading what is before it a second time.
 * @param signal stops the scan; the place is then an earlier one.
 */
export async function placeBefore(path: string, from: number, signal?: AbortSignal): Promise<RowPlace> {
  const start = { row: 0, line: 1, offset: 0 };
  if (from < stride) return start;
  await using file = await open(path);
  const { size, mtimeMs, ino } = await file.stat();
  const identity = `${ino}-${size}-${mtimeMs}`;
  const known = indexes.get(path);
  const index = known?.identity === identity ? known : { identity, places: [start], next: start };
  indexes.delete(path);
  indexes.set(path, index);
  for (const oldest of indexes.keys()) {
    if (indexes.size <= keptFiles) break;
    indexes.delete(oldest);
  }
  const buffer = index.next.row <= from ? Buffer.allocUnsafe(pieceBytes) : Buffer.alloc(0);
  let { row, line, offset } = index.next;
  let at = offset;
  let hasRow = false;
  while (row <= from && signal?.aborted !== true) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
    if (bytesRead === 0) break;
    const piece = buffer.subarray(0, bytesRead);
    for (let position = 0; position < bytesRead; ) {
      while (!hasRow && position < bytesRead && (piece[position] as number) <= 0x20) {
        if (piece[position] === 0x0a) {
          line += 1;
          offset = at + position + 1;
        }
        position += 1;
      }
      if (position === bytesRead) break;
      hasRow = true;
      const end = piece.indexOf(0x0a, position);
      if (end < 0) break;
      if (row % stride === 0) note(index, { row, line, offset });
      row += 1;
      line += 1;
      offset = at + end + 1;
      position = end + 1;
      hasRow = false;
    }
    at += bytesRead;
  }
  if (row > index.next.row) index.next = { row, line, offset };
  return index.places[Math.min(Math.floor(from / stride), index.places.length - 1)] ?? start;
}

/** Two readers may scan the same part. */
function note(index: Index, place: RowPlace): void {
  if (index.places.length === place.row / stride) index.places.push(place);
}
