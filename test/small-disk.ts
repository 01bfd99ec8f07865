import { execFileSync } from 'node:child_process';
import { closeSync, openSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './folders.ts';

/** A disk of its own in memory. */
export interface SmallDisk {
  readonly folder: string;
  freeBytes(): number;
  /** Fills it to the last byte with a file of another program. @returns its path. */
  fill(): string;
  unmount(): void;
}

/** Mounts a small disk (tmpfs). @returns why not, where it is not permitted. */
export function mountSmallDisk(bytes: number): SmallDisk | string {
  if (process.platform !== 'linux') return 'tmpfs is a file system of Linux';
  const folder = temporaryFolder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder], { stdio: 'pipe' });
  } catch (error) {
    return `a tmpfs cannot be mounted here: ${(error as { stderr?: Buffer }).stderr ?? error}`.trim();
  }
  const freeBytes = () => {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  };
  return {
    folder,
    freeBytes,
    fill() {
      const path = join(folder, 'of-another-program');
      const file = openSync(path, 'a');
      for (const block of [Buffer.alloc(2 ** 20), Buffer.alloc(4096)]) {
        try {
          while (true) writeSync(file, block);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        }
      }
      closeSync(file);
      return path;
    },
    // Lazily, because a process of the test may still hold a file.
    unmount: () => void execFileSync('umount', ['-l', folder]),
  };
}
