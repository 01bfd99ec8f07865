import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The folder of the newest starter model made by `npm run demo`.
 * @param folders where to look; missing ones are skipped.
 */
export async function findStarter(folders: readonly string[]): Promise<string | null> {
  let newest: { path: string; madeMs: number } | null = null;
  for (const folder of folders) {
    for (const name of await readdir(folder).catch(() => [])) {
      const path = join(folder, name);
      // This file is written last.
      const mark = join(path, 'starter.json');
      if (!name.startsWith('starter-') || !existsSync(mark)) continue;
      const { mtimeMs } = await stat(mark);
      if (newest === null || mtimeMs > newest.madeMs) newest = { path, madeMs: mtimeMs };
    }
  }
  return newest?.path ?? null;
}
