import { constants } from 'node:fs';
import { copyFile, rename, rm } from 'node:fs/promises';
import { noteExtension } from './import-note.ts';

/** Renames a dataset's file and the note beside it. A crash leaves one of both names with its note. */
export async function moveDataset(from: string, to: string): Promise<void> {
  await copyFile(from + noteExtension, to + noteExtension, constants.COPYFILE_FICLONE).catch(unlessGone);
  await rename(from, to);
  await rm(from + noteExtension, { force: true });
}

function unlessGone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
