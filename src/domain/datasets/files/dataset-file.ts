import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { AppError } from '../../../errors.ts';

const advice = 'Upload it again, or delete the dataset';

const isGone = (name: string, cause: unknown) =>
  new AppError('not_found', `The file of the dataset ${name} is gone. ${advice}.`, { cause });

/**
 * Checks that a stored dataset still is a file that can be read: someone may have moved or replaced it. A named pipe is
 * not waited for.
 * @param name the dataset, for messages.
 * @returns its size in bytes.
 * @throws AppError `not_found` if it is gone, `invalid` if it is no file or cannot be read.
 */
export async function checkDatasetFile(path: string, name: string): Promise<number> {
  // Windows has no named pipes in folders, and no such flag.
  const flags = constants.O_RDONLY | ((constants.O_NONBLOCK as number | undefined) ?? 0);
  await using file = await open(path, flags).catch((cause: NodeJS.ErrnoException) => {
    throw cause.code === 'ENOENT'
      ? isGone(name, cause)
      : new AppError(
          'invalid',
          `The file of the dataset ${name} cannot be read (${cause.code}). ${advice}.`,
          {
            cause,
          },
        );
  });
  const stats = await file.stat();
  if (!stats.isFile()) throw new AppError('invalid', `The dataset ${name} is no longer a file. ${advice}.`);
  return stats.size;
}

/**
 * Reads a dataset's file, which another request may delete after it was found.
 * @throws AppError `not_found` if the file was gone when it was opened; else what `read` throws.
 */
export async function readDataset<T>(path: string, name: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const { code, path: missingPath } = error as NodeJS.ErrnoException;
    throw code === 'ENOENT' && missingPath === path ? isGone(name, error) : error;
  }
}
