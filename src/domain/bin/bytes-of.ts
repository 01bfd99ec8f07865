import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** The bytes of files and of those in folders; what is not there has none. */
export async function bytesOf(paths: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const path of paths) {
    const found = await lstat(path).catch(() => null);
    if (found?.isDirectory()) {
      const names = await readdir(path).catch(() => []);
      bytes += await bytesOf(names.map((name) => join(path, name)));
    } else bytes += found?.size ?? 0;
  }
  return bytes;
}
