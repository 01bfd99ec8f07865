import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * A file that keeps disk space for the database: on a full disk it is deleted, so that the service can start (SQLite
 * needs space for its WAL, even to read) and can store that something was deleted.
 */
export interface DiskReserve {
  /** Gives up the reserved space if the disk is full. */
  release(): void;
  /** Reserves the space again if there is plenty. */
  keep(): void;
  /** Makes `work`, which frees disk space, possible on a full disk. */
  around<A extends unknown[], R>(work: (...args: A) => Promise<R>): (...args: A) => Promise<R>;
}

/** Room for the WAL, which SQLite empties at 4 MiB, and for what is written meanwhile. */
const reservedBytes = 2 ** 24;
/** On a small disk, this part of it. */
const reservedPart = 0.05;
const blockBytes = 2 ** 20;

/** @param databasePath a file on the same disk; its folder must exist. */
export function createDiskReserve(databasePath: string): DiskReserve {
  const path = `${databasePath}.reserve`;
  const disk = () => {
    const { bavail, blocks, bsize } = statfsSync(dirname(databasePath));
    return { freeBytes: bavail * bsize, bytes: Math.min(reservedBytes, blocks * bsize * reservedPart) };
  };
  const remove = () => rmSync(path, { force: true });

  function release(): void {
    const { freeBytes, bytes } = disk();
    if (freeBytes < bytes / 2) remove();
  }

  function keep(): void {
    const { freeBytes, bytes } = disk();
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (size >= bytes || freeBytes < 4 * bytes) return;
    try {
      const file = openSync(path, 'w');
      try {
        // Some file systems store zeros without taking space.
        const block = Buffer.alloc(blockBytes, 'reserved for the database\n');
        for (let written = 0; written < bytes; ) written += writeSync(file, block);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
    } catch {
      // Nothing depends on it until the disk is full.
      remove();
    }
  }

  return {
    release,
    keep,
    around:
      (work) =>
      async (...args) => {
        release();
        try {
          return await work(...args);
        } finally {
          keep();
        }
      },
  };
}
