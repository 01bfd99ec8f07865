import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { AppError } from '../../../errors.ts';

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
  const advice = 'Upload it again, or delete the dataset';
  await using file = await open(path, flags).catch((cause: NodeJS.ErrnoException) => {
    throw cause.code === 'ENOENT'
      ? new AppError('not_found', `The file of the dataset ${name} is gone. ${advice}.`, { cause })
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
