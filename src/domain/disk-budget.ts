import { existsSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { AppError } from '../errors.ts';
import type { Estimate } from './estimate.ts';

const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;

/** The file system of a folder, or of the nearest one above it that exists yet: which, and what is free. */
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

/**
 * Holds what a whole run will write against what is free, before it starts: the download in the hub's cache,
 * checkpoints and export in the data directory.
 * @throws AppError `disk_full` with the figures and what to change; never for what cannot be found out.
 */
export async function checkDisk(need: Estimate['disk'], dataDir: string, cacheDir: string): Promise<void> {
  const [data, cache] = await Promise.all([fileSystemOf(dataDir), fileSystemOf(cacheDir)]);
  const { downloadBytes, checkpointsBytes, exportBytes } = need;
  const parts = `checkpoints ${gigabytes(checkpointsBytes)}, export ${gigabytes(exportBytes)}`;
  const refuse = (neededBytes: number, freeBytes: number, what: string, where: string): never => {
    throw new AppError(
      'disk_full',
      `The training needs about ${gigabytes(neededBytes)} of disk (${what}), and ${gigabytes(freeBytes)} are free in ${where}. Free ${gigabytes(neededBytes - freeBytes)}, set "export" to fewer types or to "none", or choose a smaller model.`,
    );
  };
  const ownBytes = checkpointsBytes + exportBytes;
  if (data !== null) {
    const shared = cache !== null && cache.device === data.device;
    const neededBytes = ownBytes + (shared ? downloadBytes : 0);
    const what = shared && downloadBytes > 0 ? `download ${gigabytes(downloadBytes)}, ${parts}` : parts;
    if (neededBytes > data.freeBytes) refuse(neededBytes, data.freeBytes, what, dataDir);
  }
  if (cache !== null && downloadBytes > cache.freeBytes)
    refuse(downloadBytes, cache.freeBytes, 'the download of the model', cacheDir);
}
