import { mkdirSync, readFileSync, realpathSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type Library from 'better-sqlite3';
import { AppError, asAppError } from '../errors.ts';
import { Database } from './sqlite.ts';

/** The service of a data directory. */
export interface InstanceInfo {
  readonly pid: number;
  /** Its URL; `null` until it listens. */
  readonly url: string | null;
}

export interface InstanceLock {
  announce(url: string): void;
  release(): void;
}

/** Files of a lock: the lock itself, and who holds it. */
interface LockFiles {
  readonly lockPath: string;
  readonly infoPath: string;
}

const filesOf = (dataDir: string): LockFiles => ({
  lockPath: join(dataDir, 'instance.lock'),
  infoPath: join(dataDir, 'instance.json'),
});

/**
 * Makes a folder that the service needs. A full disk is told as everywhere.
 * @param setting the variable that names another one.
 * @throws AppError `conflict` if it cannot be made.
 */
function makeFolder(folder: string, setting: string): void {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    const known = asAppError(error);
    if (known.kind === 'disk_full') throw known;
    throw new AppError(
      'conflict',
      `The folder ${folder} cannot be made (${(error as NodeJS.ErrnoException).code}). Make it writable by this user, or set ${setting} to another one.`,
      { cause: error },
    );
  }
}

/** The lock beside a database, by its real path: two names of one file have one lock. */
function databaseFiles(databasePath: string): LockFiles {
  const folder = dirname(resolve(databasePath));
  makeFolder(folder, 'SERVICE_DB_PATH');
  let real = join(realpathSync(folder), basename(databasePath));
  try {
    real = realpathSync(databasePath);
  } catch {
    // It does not exist yet.
  }
  return { lockPath: `${real}.lock`, infoPath: `${real}.instance.json` };
}

/**
 * Locks a data directory and a database for this process. A lock is an exclusive transaction on a small SQLite file, so
 * that the operating system releases it however the process ends. Neither needs free disk space.
 * @throws AppError `conflict` with the process that holds a lock.
 */
export function lockInstance(dataDir: string, databasePath: string): InstanceLock {
  makeFolder(dataDir, 'SERVICE_DATA_DIR');
  const own = hold(
    filesOf(dataDir),
    `The data directory ${dataDir}`,
    'set SERVICE_DATA_DIR to another folder',
  );
  let database: InstanceLock;
  try {
    database = hold(
      databaseFiles(databasePath),
      `The database ${databasePath}`,
      'set SERVICE_DB_PATH to another file',
    );
  } catch (error) {
    own.release();
    throw error;
  }
  return {
    announce(url) {
      own.announce(url);
      database.announce(url);
    },
    release() {
      database.release();
      own.release();
    },
  };
}

function hold({ lockPath, infoPath }: LockFiles, what: string, instead: string): InstanceLock {
  const lock = lockFile(lockPath, () => {
    const holder = readInfo(infoPath);
    return `${what} is in use by ${holder ? `process ${holder.pid}${holder.url ? ` at ${holder.url}` : ''}` : 'another process'}. Stop that one first, or ${instead}.`;
  });
  const write = (info: InstanceInfo) => {
    try {
      writeFileSync(infoPath, JSON.stringify(info));
    } catch {
      // A full disk must not prevent the start. Without this file, only messages know less.
      rmSync(infoPath, { force: true });
    }
  };
  write({ pid: process.pid, url: null });
  return {
    announce: (url) => write({ pid: process.pid, url }),
    release: () => {
      rmSync(infoPath, { force: true });
      lock.exec('ROLLBACK');
      lock.close();
    },
  };
}

/** @param inUse the message for when another process holds the lock. */
function lockFile(path: string, inUse: () => string): Library.Database {
  for (let attempt = 1; ; attempt += 1) {
    let lock: Library.Database | null = null;
    try {
      lock = new Database(path, { timeout: 0 });
      // Nothing is ever committed, and a journal in memory needs no disk space.
      lock.pragma('journal_mode = MEMORY');
      lock.exec('BEGIN EXCLUSIVE');
      return lock;
    } catch (error) {
      lock?.close();
      const { code = '', message } = error as Error & { code?: string };
      if (code.startsWith('SQLITE_BUSY')) throw new AppError('conflict', inUse(), { cause: error });
      // Its content has no meaning, and a holder would have been noticed before reading it. The file is emptied and not
      // replaced, so that another process that does the same locks the same file.
      if ((code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT')) && attempt === 1) {
        truncateSync(path);
        continue;
      }
      throw new AppError(
        'unavailable',
        `The lock ${path} cannot be opened: ${message}. If it is not a file, or not writable by this user, move it away and start Hone again.`,
        { cause: error },
      );
    }
  }
}

/** The last process that announced itself on a data directory; it may have ended. */
export const readInstance = (dataDir: string): InstanceInfo | null => readInfo(filesOf(dataDir).infoPath);

/** `null` for a file that is missing, damaged, or from something else. */
function readInfo(path: string): InstanceInfo | null {
  try {
    const { pid, url } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
    if (!Number.isSafeInteger(pid)) return null;
    const usable = typeof url === 'string' && /^https?:/.test(url) && URL.canParse(url);
    return { pid: pid as number, url: usable ? (url as string) : null };
  } catch {
    return null;
  }
}
