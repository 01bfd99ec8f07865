import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { AppError } from '../../../errors.ts';
import { refusalOf } from '../../../faults.ts';
import { isNetworkPath, networkPathRefusal } from '../../base-models/files/network-path.ts';

/**
 * Checks that a path is a file that can be read. A named pipe is not waited for.
 * @param field of the request, for errors.
 * @returns its size in bytes.
 * @throws AppError `invalid` or `not_found`.
 */
export async function checkSourceFile(path: string, field: string): Promise<number> {
  if (isNetworkPath(path)) throw refusalOf(field, networkPathRefusal(path));
  const shown = path.slice(0, 200);
  if (!isAbsolute(path) || path.includes('\0')) {
    throw refusalOf(field, `Give the full path of a file; "${shown}" is none`);
  }
  // Windows has no named pipes in folders, and no such flag.
  const flags = constants.O_RDONLY | ((constants.O_NONBLOCK as number | undefined) ?? 0);
  await using file = await open(path, flags).catch((cause: NodeJS.ErrnoException) => {
    const msg =
      cause.code === 'ENOENT' ? `There is no file "${shown}"` : `"${shown}" cannot be read (${cause.code})`;
    const issues = [{ loc: ['body', field], msg, type: 'value_error' }];
    throw new AppError(cause.code === 'ENOENT' ? 'not_found' : 'invalid', `${msg}; check the path.`, {
      cause,
      issues,
    });
  });
  const stats = await file.stat();
  if (!stats.isFile()) throw refusalOf(field, `"${shown}" is not a file`);
  return stats.size;
}
