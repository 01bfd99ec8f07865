import { readdirSync, readFileSync } from 'node:fs';

/*
 * Files of `proc` and `sys` lie in memory: reading one takes some ten microseconds, less than handing it to another
 * thread and waiting for a lock of Node's pool, for which the event loop was seen to stand still for 2 ms.
 */

/** The text of a system file; `null` if missing or unreadable. */
export function readSystemFile(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

/** The names in a system folder; empty if missing or unreadable. */
export function listSystemFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
