import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
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
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(data.path), hash);
  } catch {
    return null;
  }
  return { rows: typeof data.rows === 'number' ? data.rows : null, sha256: hash.digest('hex') };
}
