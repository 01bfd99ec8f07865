import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { RowShape } from '../../../contract/rows.ts';
import { AppError } from '../../../errors.ts';
import { createRowValidator, type Validation } from './row-validator.ts';

/**
 * Validates the rows of a file.
 * @throws AppError `not_found`, or `invalid` for what is no `.jsonl` file.
 */
export async function validateFile(path: string, shapes: readonly RowShape[] | null): Promise<Validation> {
  const file = await stat(path).catch(() => null);
  if (file === null || path.includes('\0')) throw missing(path, 'check the path');
  if (!file.isFile() || !path.toLowerCase().endsWith('.jsonl')) {
    throw new AppError('invalid', `The dataset must be a .jsonl file; "${path.slice(0, 200)}" is not one.`);
  }
  const validator = createRowValidator(shapes);
  for await (const chunk of createReadStream(path, { highWaterMark: 2 ** 18 }))
    validator.push(chunk as Buffer);
  return validator.finish();
}

/** The error for a dataset that is not there. */
export function missing(reference: string, advice: string): AppError {
  const msg = `There is no dataset "${reference.slice(0, 200)}"; ${advice}.`;
  return new AppError('not_found', msg, { issues: [{ loc: ['body', 'dataset'], msg, type: 'value_error' }] });
}

/** The error for a dataset with invalid rows. */
export function refusedRows(what: string, validation: Validation): AppError {
  const first = validation.errors.slice(0, 5).map((error) => error.message);
  const more =
    validation.totalErrors > first.length ? ` (and ${validation.totalErrors - first.length} more)` : '';
  return new AppError('invalid', `${what}: ${first.join('; ')}${more}`, { details: { validation } });
}
