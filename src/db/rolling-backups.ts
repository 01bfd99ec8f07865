import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { allowedEnvironment, childVariables } from '../contract/child-environment.ts';
import { listBackups } from './backup.ts';

const run = promisify(execFile);
/** How often to check whether a backup is due. */
const checkMs = 60_000;

/** Backs up a database in the background while it changes. */
export interface RollingBackups {
  close(): void;
}

/**
 * Runs `program` with the path of the database whenever the newest backup is older than `everyMs` and the database has
 * changed since. It runs in its own process because verifying the copy would block this one.
 */
export function createRollingBackups(options: {
  readonly databasePath: string;
  readonly everyMs: number;
  readonly program: readonly [string, ...string[]];
  readonly logger: { warn(fields: object, text: string): void; debug(fields: object, text: string): void };
}): RollingBackups {
  const { databasePath, everyMs, program, logger } = options;
  let triedAt = Number.NEGATIVE_INFINITY;
  const stopping = new AbortController();

  function isDue(): boolean {
    if (performance.now() - triedAt < everyMs) return false;
    const newest = listBackups(databasePath)[0]?.takenAt.getTime();
    // Not by the sign: a clock that was set back must not end the backups.
    return newest === undefined || (Math.abs(Date.now() - newest) >= everyMs && changedAt() > newest);
  }

  function changedAt(): number {
    const times = [databasePath, `${databasePath}-wal`].map(
      (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0,
    );
    return Math.max(...times);
  }

  async function backUp(): Promise<void> {
    triedAt = performance.now();
    try {
      const { bavail, bsize } = await statfs(dirname(databasePath));
      // The last space is for the database itself.
      if (bavail * bsize < 2 * statSync(databasePath).size) throw new Error('the disk is nearly full');
      const [command, ...args] = program;
      await run(command, [...args, databasePath], {
        env: allowedEnvironment(process.env, childVariables.program),
        signal: stopping.signal,
      });
      logger.debug({ databasePath }, 'The database was backed up');
    } catch (error) {
      if (stopping.signal.aborted) return;
      const { stderr, message } = error as Error & { stderr?: string };
      logger.warn({ databasePath, reason: stderr?.trim() || message }, 'The database could not be backed up');
    }
  }

  let running = false;
  const check = async () => {
    if (running || !isDue()) return;
    running = true;
    await backUp();
    running = false;
  };
  const timer = setInterval(() => void check(), Math.min(checkMs, everyMs));
  timer.unref();
  return {
    close() {
      clearInterval(timer);
      stopping.abort();
    },
  };
}
