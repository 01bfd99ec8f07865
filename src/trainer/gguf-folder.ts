import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { platformCacheDir } from '../config.ts';

/** How much of a file tells it from others, with its size and time (`key_of` in trainer/gguf_base/make.py). */
const keyBytes = 2 ** 20;

/** The folder that a run makes of a GGUF file and trains from; `null` if there is no such file. */
export function ggufFolder(path: string): string | null {
  try {
    const { size, mtimeNs } = statSync(path, { bigint: true });
    const hash = createHash('sha256').update(`1 ${size} ${mtimeNs}\n`);
    const file = openSync(path, 'r');
    try {
      const head = Buffer.alloc(Math.min(keyBytes, Number(size)));
      hash.update(head.subarray(0, readSync(file, head, 0, head.length, 0)));
    } finally {
      closeSync(file);
    }
    const name = hash.digest('hex').slice(0, 32);
    return join(platformCacheDir(process.env, process.platform), 'gguf-bases', name);
  } catch {
    return null;
  }
}
