import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type Library from 'better-sqlite3';
import { AppError } from '../errors.ts';
import { Database } from './sqlite.ts';

export type Db = Library.Database;

/**
 * Opens the database, configures durability and applies migrations.
 * WAL with synchronous FULL: a committed row survives a loss of power (SQLite documentation, "PRAGMA
 * synchronous"); the library's own default under WAL is NORMAL, which does not promise that.
 * @param migrationsDir folder of files `NNNN_name.sql`, applied in order, each in one transaction;
 *   `user_version` holds the number of the last one applied.
 * @throws AppError `internal` if the file was written by a newer version.
 */
export function openDatabase(path: string, migrationsDir: string): Db {
  mkdirSync(dirname(path), { recursive: true });
  const db = new Database(path, { timeout: 5_000 });
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.pragma('foreign_keys = ON');
  migrate(db, path, migrationsDir);
  return db;
}

const migrationFiles = (dir: string) =>
  readdirSync(dir)
    .filter((name) => /^\d{4}_.*\.sql$/.test(name))
    .sort();

/** The number of the newest migration in a folder. */
export const newestMigration = (dir: string) => Number(migrationFiles(dir).at(-1)?.slice(0, 4) ?? 0);

function migrate(db: Db, path: string, migrationsDir: string): void {
  const newest = newestMigration(migrationsDir);
  const current = db.pragma('user_version', { simple: true }) as number;
  if (current > newest) {
    db.close();
    throw new AppError(
      'internal',
      `The database ${path} was written by a newer version of Hone (schema ${current}, this one knows ${newest}). Update Hone, or set SERVICE_DB_PATH to another file.`,
    );
  }
  for (const file of migrationFiles(migrationsDir)) {
    const number = Number(file.slice(0, 4));
    if (number <= current) continue;
    db.transaction(() => {
      // Another process may have applied it meanwhile.
      if ((db.pragma('user_version', { simple: true }) as number) >= number) return;
      db.exec(readFileSync(join(migrationsDir, file), 'utf8'));
      db.pragma(`user_version = ${number}`);
    }).exclusive();
  }
}
