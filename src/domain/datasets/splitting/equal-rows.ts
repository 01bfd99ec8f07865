import { readLines } from '../rows/read-lines.ts';
import { rowDigest } from '../rows/row-digest.ts';
import { mulberry32 } from './mulberry32.ts';
import { requireClient } from './require-client.ts';

/**
 * The group of each row of a JSONL file, in order: rows with the same fields have the same group, the number of its first
 * row. In memory of 28 bytes a row.
 * @param rows the number of the file's rows.
 * @returns `null` if no row repeats another.
 * @throws AppError `invalid` once `signal` is aborted.
 */
export async function equalRows(
  path: string,
  fields: readonly string[],
  rows: number,
  signal: AbortSignal,
): Promise<Uint32Array | null> {
  const groups = new Uint32Array(rows);
  /** Two words of each row's digest. */
  const digests = new Uint32Array(2 * rows);
  /** A hash table with open addressing, half full: rows, counted from 1. */
  const table = new Uint32Array(2 ** Math.ceil(Math.log2(2 * rows + 1)));
  let count = 0;
  let repeats = 0;
  for await (const { text } of readLines(path, Number.POSITIVE_INFINITY)) {
    if (text.trim() === '' || count === rows) continue;
    requireClient(signal);
    const digest = rowDigest(text, fields);
    const [high, low] = [digest.readUInt32LE(0), digest.readUInt32LE(4)];
    let place = (high & (table.length - 1)) >>> 0;
    const isOther = (row: number) => digests[2 * row] !== high || digests[2 * row + 1] !== low;
    while (table[place] !== 0 && isOther((table[place] as number) - 1))
      place = (place + 1) & (table.length - 1);
    if (table[place] === 0) table[place] = count + 1;
    else repeats += 1;
    groups[count] = (table[place] as number) - 1;
    digests.set([high, low], 2 * count);
    count += 1;
  }
  return repeats === 0 ? null : groups;
}

/**
 * Draws up to `count` rows, with all rows of a group or none of them: groups in random order, as far as they still fit.
 * @param groups the group of each row, as `equalRows` numbers them.
 * @returns 1 for each row that is drawn, and 0 for the others.
 */
export function drawGroups(groups: Uint32Array, count: number, seed: number): Uint8Array {
  const sizes = new Uint32Array(groups.length);
  for (const group of groups) sizes[group] = (sizes[group] as number) + 1;
  const order = Uint32Array.from(groups.keys()).filter((row) => groups[row] === row);
  // Fisher and Yates.
  const random = mulberry32(seed);
  for (let place = order.length - 1; place > 0; place -= 1) {
    const other = Math.floor(random() * (place + 1));
    [order[place], order[other]] = [order[other] as number, order[place] as number];
  }
  const drawn = new Uint8Array(groups.length);
  let left = count;
  for (const group of order) {
    const size = sizes[group] as number;
    if (size > left) continue;
    drawn[group] = 1;
    left -= size;
  }
  // The first row of a group comes before the others.
  for (const [row, group] of groups.entries()) drawn[row] = drawn[group] as number;
  return drawn;
}
