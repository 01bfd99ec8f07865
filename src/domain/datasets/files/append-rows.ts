import { createReadStream } from 'node:fs';
import { refusalOf } from '../../../faults.ts';
import type { Validation } from '../rows/row-validator.ts';

const newline = 10;

/** The lines of a file, and behind them further rows. @param path of the file; `null` for none. */
export async function* withRows(path: string | null, rows: readonly object[]): AsyncGenerator<Buffer> {
  let last = newline;
  if (path !== null) {
    for await (const piece of createReadStream(path) as AsyncIterable<Buffer>) {
      last = piece.at(-1) ?? last;
      yield piece;
    }
  }
  const lines = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  yield Buffer.from(last === newline ? lines : `\n${lines}`);
}

/** The errors of rows, without those of the whole file: it may have too few rows yet. */
const rowErrors = ({ totalErrors, errors }: Validation): number =>
  totalErrors - errors.filter(({ line }) => line === null).length;

/** @throws AppError `invalid` if rows that are added have errors that the dataset does not have. */
export function refuseFaults(before: Validation | null, after: Validation): void {
  if (rowErrors(after) <= (before === null ? 0 : rowErrors(before))) return;
  const { message = 'The rows are not valid.' } = after.errors.findLast(({ line }) => line !== null) ?? {};
  throw refusalOf('rows', message);
}
