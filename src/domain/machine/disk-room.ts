import { statfs } from 'node:fs/promises';
import { AppError } from '../../errors.ts';

/** Kept free on the disk, for the database, logs and other programs. */
const keptFreeBytes = 2 ** 28;
/** Of a small disk, this part is kept free. */
const keptFreePart = 0.05;

const megabytes = (bytes: number) => `${Math.floor(bytes / 1e6)} MB`;

/**
 * Checks that a folder's disk has room for `bytes` more, beside what is kept free. An unknown free space passes.
 * @throws AppError `disk_full`.
 */
export async function checkRoom(folder: string, bytes: number): Promise<void> {
  const disk = await statfs(folder).catch(() => null);
  if (disk === null) return;
  const freeBytes = disk.bavail * disk.bsize;
  const kept = Math.min(keptFreeBytes, disk.blocks * disk.bsize * keptFreePart);
  if (freeBytes - bytes >= kept) return;
  throw new AppError(
    'disk_full',
    `The disk is nearly full: ${megabytes(freeBytes)} are free, of which ${megabytes(kept)} are kept free. Delete datasets, models or runs that are no longer needed, or free other space on the disk of the data directory.`,
  );
}
