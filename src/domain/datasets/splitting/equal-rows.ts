import { createHash } from 'node:crypto';
import { readLines } from '../rows/read-lines.ts';
import { mulberry32 } from './mulberry32.ts';

/**
 * The group of each row of a JSONL file, in order: rows with the same fields have the same group.
 * @returns `null` if no row repeats another.
 */
export async function equalRows(path: string, fields: readonly string[]): Promise<number[] | null> {
  const known = new Map<bigint, number>();
  const groups: number[] = [];
  for await (const { text } of readLines(path, Number.POSITIVE_INFINITY)) {
    if (text.trim() === '') continue;
    const row = JSON.parse(groups.length === 0 ? text.replace(/^\ufeff/, '') : text) as Readonly<
      Record<string, unknown>
    >;
    const content = JSON.stringify(fields.map((field) => row[field]));
    const digest = createHash('sha1').update(content).digest().readBigUInt64LE();
    const group = known.get(digest) ?? known.size;
    known.set(digest, group);
    groups.push(group);
  }
  return known.size === groups.length ? null : groups;
}

/**
 * Draws up to `count` rows, with all rows of a group or none of them: groups in random order, as far as they still fit.
 * @param groups the group of each row.
 * @returns whether each row is drawn.
 */
export function drawGroups(groups: readonly number[], count: number, seed: number): boolean[] {
  const sizes = new Map<number, number>();
  for (const group of groups) sizes.set(group, (sizes.get(group) ?? 0) + 1);
  const order = [...sizes.keys()];
  // Fisher and Yates.
  const random = mulberry32(seed);
  for (let place = order.length - 1; place > 0; place -= 1) {
    const other = Math.floor(random() * (place + 1));
    [order[place], order[other]] = [order[other] as number, order[place] as number];
  }
  const drawn = new Set<number>();
  let left = count;
  for (const group of order) {
    const size = sizes.get(group) as number;
    if (size > left) continue;
    drawn.add(group);
    left -= size;
  }
  return groups.map((group) => drawn.has(group));
}
