import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { Job } from './job.ts';

/** The rows that a job was trained on: how many they are, and the SHA-256 of their file. */
export interface DataDigest {
  readonly rows: number | null;
  readonly sha256: string;
}

/** Reads the file of rows in a job's folder; `null` if it is gone. */
export async function readDataDigest({ spec }: Job): Promise<DataDigest | null> {
  const data = (spec as { dataset?: { path?: unknown; rows?: unknown } } | null)?.dataset;
  if (typeof data?.path !== 'string') return null;
  const sha256 = await fileDigest(data.path).catch(() => null);
  if (sha256 === null) return null;
  return { rows: typeof data.rows === 'number' ? data.rows : null, sha256 };
}

/** The digests of the files that were read last, by what tells their content. */
const known = new Map<string, string>();
const mostKnown = 200;

/** The SHA-256 of a file of rows, which is replaced, never written into. */
export async function fileDigest(path: string): Promise<string> {
  const { ino, size, mtimeNs } = await stat(path, { bigint: true });
  const key = `${ino}-${size}-${mtimeNs}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  const sha256 = hash.digest('hex');
  known.set(key, sha256);
  for (const oldest of known.keys()) if (known.size > mostKnown) known.delete(oldest);
  return sha256;
}
