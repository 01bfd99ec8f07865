import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';

/** A text that tells one content of a dataset's file from another: files of datasets are replaced, never written into. */
export async function fileVersion(path: string): Promise<string> {
  const { ino, size, mtimeNs } = await stat(path, { bigint: true });
  return createHash('sha256').update(`${ino}-${size}-${mtimeNs}`).digest('hex').slice(0, 16);
}
