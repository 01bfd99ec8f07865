import { copyFileSync, renameSync, rmSync, statSync } from 'node:fs';
import {
  type Backup,
  clearSuspicion,
  findDamage,
  listBackups,
  makeBackup,
  stamp,
  syncFile,
} from './backup.ts';
import { newestMigration } from './open.ts';
import { readRemovedKeys } from './removed-keys.ts';
import { Database } from './sqlite.ts';

/** What was done about a database that was damaged or gone. */
export interface Restoration {
  /** What was wrong with it. */
  readonly damage: string;
  /** Where it is now; `null` if there was nothing to keep. */
  readonly setAside: string | null;
  /** The backup that is used instead; `null` if there was none, and the database is new. */
  readonly backup: Backup | null;
}

const smallestPageBytes = 512;
/** The files that SQLite keeps beside a database. */
const companions = ['-wal', '-shm', '-journal'] as const;

/**
 * Makes a database ready to be opened, while nobody else uses it: a damaged one is set aside with its companions and
 * replaced by the newest good backup, and one that will be migrated is backed up.
 * @returns `null` if it was intact, or if there was neither a database nor a backup.
 */
export async function prepareDatabase(path: string, migrationsDir: string): Promise<Restoration | null> {
  const newest = newestMigration(migrationsDir);
  const damage = damageOf(path);
  if (damage === null) {
    clearSuspicion(path);
    const version = versionOf(path);
    if (version > 0 && version < newest) await makeBackup(path, newest);
    return null;
  }
  const backup = listBackups(path).find((candidate) => isUsable(candidate.path, newest)) ?? null;
  const isThere = ['', '-wal'].some(
    (ending) => (statSync(path + ending, { throwIfNoEntry: false })?.size ?? 0) > 0,
  );
  if (!isThere && backup === null) return null;
  const setAside = moveAside(path);
  if (backup !== null) restore(backup.path, path);
  clearSuspicion(path);
  return { damage, setAside, backup };
}

function damageOf(path: string): string | null {
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === undefined) return 'the file is missing';
  // SQLite takes what is shorter than a page for a new database.
  if (size < smallestPageBytes) return size === 0 ? 'the file is empty' : `it has only ${size} bytes`;
  return findDamage(path);
}

function isUsable(path: string, newest: number): boolean {
  try {
    return findDamage(path) === null && versionOf(path) <= newest;
  } catch {
    return false;
  }
}

function versionOf(path: string): number {
  const db = new Database(path, { readonly: true, fileMustExist: true });
  try {
    return db.pragma('user_version', { simple: true }) as number;
  } finally {
    db.close();
  }
}

/** @returns the new path of the database, or `null` if only empty files were there. */
function moveAside(path: string): string | null {
  const aside = `${path}.damaged-${stamp(new Date())}`;
  let any = false;
  for (const ending of ['', ...companions]) {
    const size = statSync(path + ending, { throwIfNoEntry: false })?.size;
    if (size === undefined) continue;
    if (size === 0) rmSync(path + ending);
    else {
      renameSync(path + ending, aside + ending);
      any = true;
    }
  }
  return any ? aside : null;
}

/** Removes the access keys that were removed after a backup, and all sessions, which may have ended since. */
function revokeAgain(backup: InstanceType<typeof Database>, databasePath: string): void {
  // A backup from before the migration that introduced keys has none.
  if ((backup.pragma('table_info(access_keys)') as unknown[]).length === 0) return;
  const remove = backup.prepare('DELETE FROM access_keys WHERE hash = ?');
  for (const hash of readRemovedKeys(databasePath)) remove.run(hash);
  backup.prepare('DELETE FROM access_sessions').run();
}

/**
 * The copy is marked as restored before it gets the name of the database, so that a start that is interrupted here
 * still finds out.
 */
function restore(backupPath: string, path: string): void {
  const copy = `${path}.restoring`;
  for (const ending of ['', ...companions]) rmSync(copy + ending, { force: true });
  copyFileSync(backupPath, copy);
  const db = new Database(copy);
  db.pragma('journal_mode = DELETE');
  db.prepare("INSERT OR REPLACE INTO session (key, value) VALUES ('restored', 'true')").run();
  revokeAgain(db, path);
  db.close();
  syncFile(copy);
  renameSync(copy, path);
}
