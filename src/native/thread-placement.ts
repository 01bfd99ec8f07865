import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { releaseDir } from './addon.ts';

/**
 * The library that gives each of llama.cpp's threads a processor of its own when it is preloaded into a process (see
 * `native/preload/thread-placement.cpp`); `null` where it was not built, as on macOS and Windows, or where the path contains
 * a character that separates preloaded libraries.
 */
export function threadPlacement(): string | null {
  const file = join(releaseDir(), 'thread-placement.so');
  return existsSync(file) && !/[\s:]/.test(file) ? file : null;
}
