import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../errors.ts';
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

/**
 * Locks a data directory for this process. The lock is an exclusive transaction on a small SQLite file, so that the operating
 * system releases it however the process ends.
 * @throws AppError `conflict` with the process that holds the lock.
 */
export function lockInstance(dataDir: string): InstanceLock {
  mkdirSync(dataDir, { recursive: true });
  const infoPath = join(dataDir, 'instance.json');
  const lock = new Database(join(dataDir, 'instance.lock'), { timeout: 0 });
  try {
    lock.pragma('journal_mode = DELETE');
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    const holder = readInstance(dataDir);
    throw new AppError(
      'conflict',
      `The data directory ${dataDir} is in use by ${holder ? `process ${holder.pid}${holder.url ? ` at ${holder.url}` : ''}` : 'another process'}. Stop that one first, or set SERVICE_DATA_DIR to another folder.`,
      { cause: error },
    );
  }
  const write = (info: InstanceInfo) => writeFileSync(infoPath, JSON.stringify(info));
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

/** The last process that announced itself on a data directory; it may have ended. */
export function readInstance(dataDir: string): InstanceInfo | null {
  try {
    return JSON.parse(readFileSync(join(dataDir, 'instance.json'), 'utf8')) as InstanceInfo;
  } catch {
    return null;
  }
}
