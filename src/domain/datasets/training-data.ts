import { constants } from 'node:fs';
import { copyFile, link, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { RowShape } from '../../contract/rows.ts';
import { checkRoom } from '../machine/disk-room.ts';
import { readDataset } from './files/dataset-file.ts';

/** A dataset for training: the path and number of its rows. */
export interface TrainingData {
  readonly name: string;
  readonly path: string;
  readonly numExamples: number;
  readonly shape: RowShape;
  /** Whether the file is managed by Hone and replaced by renaming, so that a hard link keeps its rows. */
  readonly stored: boolean;
}

/**
 * Gives a job its own copy of the rows, unaffected by later uploads.
 * @throws AppError `not_found` if the file was deleted meanwhile.
 */
export async function freezeRows(data: TrainingData, target: string): Promise<void> {
  await rm(target, { force: true });
  if (data.stored) {
    try {
      return await link(data.path, target);
    } catch {
      // Another file system, or one without hard links.
    }
  }
  // A copy that shares its blocks with the original, where the file system can.
  await readDataset(data.path, data.name, async () => {
    await checkRoom(dirname(target), (await stat(data.path)).size);
    await copyFile(data.path, target, constants.COPYFILE_FICLONE);
  });
}
