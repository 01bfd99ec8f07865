import { AppError } from '../errors.ts';
import { type Addon, type AddonError, loadAddon, type NativeDuplicates } from './addon.ts';

export interface DuplicatesWanted {
  readonly path: string;
  /** A file that is compared with the first one. */
  readonly validation: string | null;
  /** The fields that are compared. */
  readonly fields: readonly string[];
  /** Those of them that are learned. */
  readonly answers: readonly string[];
  /** Called with the bytes that are read, of both files. */
  readonly onProgress: (done: number, total: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Finds the rows of a JSONL file that repeat others, on a separate thread.
 * @throws AppError `unavailable` without the native addon, and `invalid` for a file that cannot be read, a line that is
 * not a row, or when `signal` is aborted.
 */
export async function findDuplicates(wanted: DuplicatesWanted): Promise<NativeDuplicates> {
  const state = loadAddon();
  if (state.addon === null) {
    throw new AppError('unavailable', `Duplicates cannot be found without the native addon. ${state.reason}`);
  }
  const { signal, validation, ...rest } = wanted;
  if (signal.aborted) throw refusalOf({ code: 'cancelled', message: 'The analysis was cancelled.' });
  return new Promise((resolve, reject) => {
    const native = (state.addon as Addon).findDuplicates({
      ...rest,
      validation: validation ?? '',
      onEnd: (error, found) => {
        signal.removeEventListener('abort', native.cancel);
        if (found === null) reject(refusalOf(error as AddonError));
        else resolve(found);
      },
    });
    signal.addEventListener('abort', native.cancel);
  });
}

const refusalOf = ({ code, message }: Pick<AddonError, 'code' | 'message'>) =>
  new AppError(code === 'no_memory' ? 'unavailable' : 'invalid', message, { details: { code } });
