import { createHash } from 'node:crypto';
import { readLines } from '../rows/read-lines.ts';

/** How a file of rows differs from another: a row that was edited is one removed and one added. */
export interface RowChanges {
  readonly added: number;
  readonly removed: number;
}

interface RowFile {
  readonly path: string;
  readonly sha256: string;
  readonly sizeBytes: number;
}

/** Larger files are not compared. */
const mostBytes = 2e7;
const mostKnown = 1000;

/** Compares files of rows: `null` if one of them is too large, or gone. Results are remembered by what the files hold. */
export function createRowChanges(): (before: RowFile, after: RowFile) => Promise<RowChanges | null> {
  const known = new Map<string, RowChanges>();
  return async (before, after) => {
    if (Math.max(before.sizeBytes, after.sizeBytes) > mostBytes) return null;
    const key = `${before.sha256} ${after.sha256}`;
    const found = known.get(key) ?? (await compare(before.path, after.path).catch(() => null));
    if (found !== null) known.set(key, found);
    for (const oldest of known.keys()) if (known.size > mostKnown) known.delete(oldest);
    return found;
  };
}

async function compare(before: string, after: string): Promise<RowChanges> {
  const counts = new Map<string, number>();
  for await (const row of rowDigests(before)) counts.set(row, (counts.get(row) ?? 0) + 1);
  let added = 0;
  for await (const row of rowDigests(after)) {
    const left = counts.get(row) ?? 0;
    if (left === 0) added += 1;
    else counts.set(row, left - 1);
  }
  return { added, removed: [...counts.values()].reduce((sum, count) => sum + count, 0) };
}

async function* rowDigests(path: string): AsyncGenerator<string> {
  for await (const { text } of readLines(path, Number.POSITIVE_INFINITY)) {
    const row = text.trim();
    if (row !== '') yield createHash('sha1').update(row).digest('base64');
  }
}
