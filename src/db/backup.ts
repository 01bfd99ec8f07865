import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { AppError } from '../errors.ts';
import { Database } from './sqlite.ts';

/** A backup of the database. */
export interface Backup {
  readonly path: string;
  readonly takenAt: Date;
  /** The migration it was made before, or `null`. */
  readonly beforeMigration: number | null;
}

/** How many backups are kept: the newest ones, and the newest one made before a migration. */
const kept = { rolling: 3, beforeMigration: 1 };
/** `2026-11-22T14-05-09.123Z.sqlite`, or the same after `before-0003-`. */
const namePattern = /^(?:before-(\d{4})-)?(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d\.\d{3}Z)\.sqlite$/;

/** A time as part of a file name, on every platform. */
export const stamp = (time: Date) => time.toISOString().replaceAll(':', '-');

/** The folder with the backups of a database. */
export const backupsDir = (databasePath: string) =>
  join(dirname(databasePath), `${basename(databasePath)}-backups`);

/** The backups of a database, newest first. They were verified when they were made. */
export function listBackups(databasePath: string): Backup[] {
  const dir = backupsDir(databasePath);
  const found: Backup[] = [];
  for (const name of namesIn(dir)) {
    const [, migration, hour, minute, second] = namePattern.exec(name) ?? [];
    if (hour === undefined) continue;
    found.push({
      path: join(dir, name),
      takenAt: new Date(`${hour}:${minute}:${second}`),
      beforeMigration: migration === undefined ? null : Number(migration),
    });
  }
  return found.sort((a, b) => b.takenAt.getTime() - a.takenAt.getTime());
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

/**
 * Copies a database with SQLite's online backup, verifies the copy, and then deletes the backups that are no longer kept.
 * The database may be in use. Blocks this thread for about 20 ms per megabyte.
 * @throws AppError `internal` if the copy is damaged, because the database is. SQLite's own error for a full disk.
 */
export async function makeBackup(databasePath: string, beforeMigration: number | null): Promise<Backup> {
  const dir = backupsDir(databasePath);
  mkdirSync(dir, { recursive: true });
  for (const name of namesIn(dir)) if (name.endsWith('.partial')) rmSync(join(dir, name), { force: true });
  const takenAt = new Date();
  const prefix = beforeMigration === null ? '' : `before-${String(beforeMigration).padStart(4, '0')}-`;
  const path = join(dir, `${prefix}${stamp(takenAt)}.sqlite`);
  const partial = `${path}.partial`;
  try {
    const source = new Database(databasePath, { readonly: true, fileMustExist: true, timeout: 30_000 });
    try {
      // All pages in one step: each step is a snapshot, and a write between two of them would start the copy again.
      await source.backup(partial, { progress: () => 2 ** 31 - 1 });
    } finally {
      source.close();
    }
    const damage = findDamage(partial);
    if (damage !== null) {
      suspect(databasePath);
      throw new AppError(
        'internal',
        `The database ${databasePath} is damaged (${damage}), so it was not backed up. Restart Hone to return to the newest backup.`,
      );
    }
    syncFile(partial);
    renameSync(partial, path);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
  removeOld(databasePath);
  return { path, takenAt, beforeMigration };
}

function removeOld(databasePath: string): void {
  const all = listBackups(databasePath);
  const rolling = all.filter(({ beforeMigration }) => beforeMigration === null);
  const migrations = all.filter(({ beforeMigration }) => beforeMigration !== null);
  for (const { path } of [...rolling.slice(kept.rolling), ...migrations.slice(kept.beforeMigration)])
    rmSync(path, { force: true });
}

/** Flushes a file to disk. */
export function syncFile(path: string): void {
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * A larger database is checked completely by its backups, each hour in which it changed, and at a start after one of them
 * found damage: 100 MB take about a second.
 */
const fullCheckBytes = 2 ** 26;

/** Says that a backup found damage, so that the next start checks the whole database. */
const suspicionOf = (databasePath: string) => `${databasePath}-suspect`;

/** Forgets that a backup found damage. */
export const clearSuspicion = (databasePath: string): void =>
  rmSync(suspicionOf(databasePath), { force: true });

function suspect(databasePath: string): void {
  try {
    writeFileSync(suspicionOf(databasePath), '');
  } catch {
    // A full disk: the log has it.
  }
}

/**
 * What is wrong with a database file, or `null`. The file is not changed.
 * @throws the error of SQLite for what is no damage, such as a missing permission.
 */
export function findDamage(path: string): string | null {
  let db: InstanceType<typeof Database> | null = null;
  try {
    db = new Database(path, { readonly: true, fileMustExist: true, timeout: 5_000 });
    const full =
      statSync(path).size <= fullCheckBytes || path.endsWith('.partial') || existsSync(suspicionOf(path));
    if (full) {
      const said = db.pragma('quick_check(1)', { simple: true }) as string;
      return said === 'ok' ? null : said;
    }
    for (const name of db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all())
      db.prepare(`SELECT * FROM "${name}" LIMIT 1`).get();
    return null;
  } catch (error) {
    const { code = '', message } = error as Error & { code?: string };
    if (code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT')) return message;
    throw error;
  } finally {
    db?.close();
  }
}
