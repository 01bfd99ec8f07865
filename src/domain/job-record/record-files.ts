import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/*
 * Files that keep what the database says of something, for when the database is lost.
 */

/** A file or folder that could not be read, and why. */
export interface Unreadable {
  readonly folder: string;
  readonly reason: string;
}

/** Writes a record's file whole or not at all. @throws Error as on a full disk. */
export function writeRecord(path: string, record: unknown): void {
  writeFileSync(`${path}.aside`, `${JSON.stringify(record)}\n`);
  renameSync(`${path}.aside`, path);
}

/**
 * Reads the records whose files in `dir` match `pattern`.
 * @param take receives the content of a file and its name without its end, and throws if it is damaged.
 * @returns the names of those that were taken.
 */
export function readRecords(dir: string, pattern: RegExp, take: (content: unknown, name: string) => void) {
  const registered: string[] = [];
  const unreadable: Unreadable[] = [];
  for (const file of existsSync(dir) ? readdirSync(dir) : []) {
    if (!pattern.test(file)) continue;
    const path = join(dir, file);
    const name = file.slice(0, file.lastIndexOf('.'));
    try {
      take(JSON.parse(readFileSync(path, 'utf8')), name);
      registered.push(name);
    } catch (error) {
      unreadable.push({ folder: path, reason: (error as Error).message });
    }
  }
  return { registered, unreadable };
}
