import { statfs } from 'node:fs/promises';
import { AppError } from '../../errors.ts';

/** Kept free on the disk, for the database, logs and other programs. */
const keptFreeBytes = 2 ** 28;
/** Of a small disk, this part is kept free. */
const keptFreePart = 0.05;

export const megabytes = (bytes: number) => `${Math.floor(bytes / 1e6)} MB`;

/** What a disk has free, and what of this is kept free; `null` if it is unknown. */
export async function roomOf(folder: string) {
  const disk = await statfs(folder).catch(() => null);
  if (disk === null) return null;
  return {
    bytes: disk.blocks * disk.bsize,
    freeBytes: disk.bavail * disk.bsize,
    keptFreeBytes: Math.min(keptFreeBytes, disk.blocks * disk.bsize * keptFreePart),
  };
}

/** Whether uploads are about to be refused. What the database reserves may be free at the moment, and is no more than half of it. */
export async function isShort(folder: string): Promise<boolean> {
  const room = await roomOf(folder);
  return room !== null && room.freeBytes < 2 * room.keptFreeBytes;
}

/** What gives way where a disk lacks bytes, such as the bin. */
export interface GivingWay {
  /** The bytes that it has on a folder's disk. */
  bytes(folder: string): number;
  giveWay(bytes: number): Promise<void>;
}
export const givingWay = new Set<GivingWay>();

/** The bytes that can give way on a folder's disk. */
export const reclaimableBytes = (folder: string): number =>
  [...givingWay].reduce((sum, one) => sum + one.bytes(folder), 0);

/** Lets things give way to `bytes` more that a folder's disk lacks; nothing does if all of them would not be enough. */
export async function makeRoom(folder: string, bytes: number): Promise<void> {
  if (bytes > reclaimableBytes(folder)) return;
  for (const one of givingWay) if (one.bytes(folder) > 0) await one.giveWay(bytes);
}

/**
 * Checks that a folder's disk has room for `bytes` more, beside what is kept free. What can give way does so first. An
 * unknown free space passes.
 * @throws AppError `disk_full`.
 */
export async function checkRoom(folder: string, bytes: number): Promise<void> {
  const before = await roomOf(folder);
  const lacking = before === null ? 0 : bytes + before.keptFreeBytes - before.freeBytes;
  if (lacking <= 0) return;
  await makeRoom(folder, lacking);
  const room = await roomOf(folder);
  if (room === null || room.freeBytes - bytes >= room.keptFreeBytes) return;
  const { freeBytes, keptFreeBytes: kept } = room;
  throw new AppError(
    'disk_full',
    `The disk is nearly full: ${megabytes(freeBytes)} are free, of which ${megabytes(kept)} are kept free. Delete datasets, models or runs that are no longer needed, or free other space on the disk of the data directory.`,
  );
}
