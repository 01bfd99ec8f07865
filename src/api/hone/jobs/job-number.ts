import { AppError } from '../../../errors.ts';

/** The ID of a job in a path. @throws AppError `not_found` if it is not a job id. */
export function jobNumber(name: string): number {
  const matched = /^train_(\d{1,15})$/.exec(name);
  if (matched === null) throw new AppError('not_found', `There is no job ${name.slice(0, 100)}.`);
  return Number(matched[1]);
}
