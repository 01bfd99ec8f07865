import { AppError } from '../../../errors.ts';

/** @throws AppError `invalid` once the client that asked for it has left. */
export function requireClient(signal: AbortSignal): void {
  if (signal.aborted) throw new AppError('invalid', 'The client left before all rows were read.');
}
