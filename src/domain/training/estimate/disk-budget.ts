import { existsSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { AppError } from '../../../errors.ts';
import type { DiskBytes } from './disk-need.ts';

const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;

/** The file system of a folder, or of its nearest existing ancestor: its device and free space. */
async function fileSystemOf(folder: string): Promise<{ device: number; freeBytes: number } | null> {
  let existing = resolve(folder);
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  try {
    const [{ dev }, { bavail, bsize }] = await Promise.all([stat(existing), statfs(existing)]);
    return { device: dev, freeBytes: bavail * bsize };
  } catch {
    return null;
  }
}

/** A run's disk requirement that exceeds the free space. */
export interface Shortage {
  readonly neededBytes: number;
  readonly freeBytes: number;
  /** What runs that are going will still write, which is not in `freeBytes`; what the bin has is in it. */
  readonly reservedBytes: number;
  /** What the space is for. */
  readonly what: string;
  readonly where: string;
}

/**
 * Compares what a run will write with the free space: the download in the hub cache, and checkpoints and export in the
 * data directory.
 * @param reservedBytes free space of the data directory that other runs will take.
 * @param reclaimable what gives way in the data directory, such as the bin.
 * @returns `null` if it fits, or if the free space is unknown.
 */
export async function findShortage(
  need: DiskBytes,
  dataDir: string,
  cacheDir: string,
  reservedBytes = 0,
  reclaimable = 0,
): Promise<Shortage | null> {
  const [data, cache] = await Promise.all([fileSystemOf(dataDir), fileSystemOf(cacheDir)]);
  const { downloadBytes, checkpointsBytes, exportBytes, teacherBytes, spareBytes } = need;
  if (data !== null) {
    const shared = cache !== null && cache.device === data.device;
    const neededBytes =
      checkpointsBytes + exportBytes + teacherBytes + spareBytes + (shared ? downloadBytes : 0);
    const what = [
      ...(shared && downloadBytes > 0 ? [`download ${gigabytes(downloadBytes)}`] : []),
      `checkpoints ${gigabytes(checkpointsBytes)}`,
      `export ${gigabytes(exportBytes)}`,
      ...(teacherBytes > 0 ? [`the teacher's answers ${gigabytes(teacherBytes)}`] : []),
    ].join(', ');
    const freeBytes = Math.max(0, data.freeBytes + reclaimable - reservedBytes);
    if (neededBytes > freeBytes) return { neededBytes, freeBytes, reservedBytes, what, where: dataDir };
  }
  if (cache !== null && downloadBytes > cache.freeBytes) {
    const what = 'the download of the model';
    return {
      neededBytes: downloadBytes,
      freeBytes: cache.freeBytes,
      reservedBytes: 0,
      what,
      where: cacheDir,
    };
  }
  return null;
}

/** The error for a run that does not fit on the disk. */
export function diskFull({ neededBytes, freeBytes, reservedBytes, what, where }: Shortage): AppError {
  const beside = reservedBytes > 0 ? `, beside ${gigabytes(reservedBytes)} that other runs will take` : '';
  return new AppError(
    'disk_full',
    `The training needs about ${gigabytes(neededBytes)} of disk (${what}), and ${gigabytes(freeBytes)} are free in ${where}${beside}. Free ${gigabytes(neededBytes - freeBytes)}, set "export" to fewer types or to "none", or choose a smaller model.`,
  );
}
