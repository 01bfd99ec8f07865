import { minimumRows } from '../../../contract/rows.ts';
import type { DatasetRow } from '../../../db/tables/datasets.ts';
import { AppError } from '../../../errors.ts';
import type { Validation } from '../rows/row-validator.ts';

/** How many rows to hold out, and which. */
export interface SplitWanted {
  /** The share of the rows, between 0 and 1; or `rows`. */
  readonly fraction?: number | undefined;
  readonly rows?: number | undefined;
  readonly seed: number;
}

/** The numbers of all rows and of those that are held out. @throws AppError `invalid` if a part would be too small. */
export function splitSizes(
  { name, numExamples: rows, validation }: DatasetRow<Validation>,
  { fraction = 0, rows: wanted }: SplitWanted,
) {
  if (!validation.valid) {
    throw new AppError(
      'invalid',
      `${name} has faults (${validation.totalErrors}). Correct them before splitting it.`,
    );
  }
  const heldOut = wanted ?? Math.round(rows * fraction);
  if (heldOut >= minimumRows && rows - heldOut >= minimumRows) return { rows, heldOut };
  const advice =
    rows < 2 * minimumRows
      ? `Add rows: at least ${2 * minimumRows} are needed`
      : `Hold out ${minimumRows} to ${rows - minimumRows} rows`;
  throw new AppError(
    'invalid',
    `Of the ${rows} rows of ${name}, ${heldOut} would be held out and ${Math.max(0, rows - heldOut)} left; each part needs at least ${minimumRows}. ${advice}.`,
  );
}
