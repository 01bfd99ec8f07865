import { createHash } from 'node:crypto';
import { type BigIntStats, closeSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { platformCacheDir } from '../config.ts';
import { ggufParts } from '../contract/models/gguf-parts.ts';

/** How much of a file tells it from others, with its size and time (`key_of` in trainer/gguf_base/make.py). */
const keyBytes = 2 ** 20;

/** The folder that a run makes of a GGUF file, of several the first, and trains from; `null` if one of them is not there. */
export function ggufFolder(path: string): string | null {
  try {
    const [{ size, mtimeNs }, ...others] = ggufParts(path).map((part) =>
      statSync(part, { bigint: true }),
    ) as [BigIntStats, ...BigIntStats[]];
    const hash = createHash('sha256').update(`1 ${size} ${mtimeNs}\n`);
    for (const part of others) hash.update(`${part.size} ${part.mtimeNs}\n`);
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
