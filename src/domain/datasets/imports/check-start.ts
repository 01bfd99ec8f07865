import { AppError } from '../../../errors.ts';
import { refusalOf } from '../../../faults.ts';
import type { ImportMapping } from '../../../trainer/import-rows.ts';
import { checkMapping } from './check-mapping.ts';
import type { ImportRecord } from './import-record.ts';

const runningAtOnce = 4;
const retryAfterSeconds = 10;

/** Whether it failed before it could be proposed. */
export const isUnreadable = ({ state, proposal }: ImportRecord) => state === 'failed' && proposal === null;

/** @throws AppError `conflict` unless an import can be previewed or started. */
export function checkReady(record: ImportRecord): void {
  const { id, state, proposal, error } = record;
  if (proposal !== null && (state === 'proposed' || state === 'failed')) return;
  const why = isUnreadable(record)
    ? `cannot be read: ${error}`
    : `is ${state === 'reading' ? 'being read' : state}`;
  throw new AppError('conflict', `The import ${id} ${why}.`);
}

/** @throws AppError `invalid` unless a JSON object has a list of rows under these keys. */
export function checkRowsAt(rowsAt: string, { proposal }: ImportRecord): void {
  const keys = (proposal?.lists ?? []).map(({ key }) => key);
  if (keys.includes(rowsAt)) return;
  const known = keys.length === 0 ? 'it has none' : `those with rows: ${keys.join(', ').slice(0, 500)}`;
  throw refusalOf('rows_at', `The source has no list of rows under "${rowsAt.slice(0, 100)}"; ${known}`);
}

/**
 * Checks that an import can be started.
 * @param mapping that the user gave, `null` for what is proposed. @param others that are remembered.
 * @throws AppError `conflict` if it is not ready, `invalid` for its mapping, `unavailable` if too many run.
 */
export function checkStart(
  record: ImportRecord,
  mapping: ImportMapping | null,
  others: readonly ImportRecord[],
): void {
  checkReady(record);
  const { proposal } = record;
  if (mapping !== null) checkMapping(mapping, proposal?.columns ?? []);
  else if (proposal?.target === null) {
    throw refusalOf('mapping', 'Choose the column that each field is taken from');
  } else if (proposal?.guessed) {
    const proposed = JSON.stringify(proposal.mapping).slice(0, 500);
    const give = `give the mapping to use, such as ${proposed}`;
    throw refusalOf('mapping', `The columns are guessed from their values; ${give}`);
  }
  const running = others.filter(({ state }) => state === 'running').length;
  if (running < runningAtOnce) return;
  throw new AppError(
    'unavailable',
    `${running} imports are running, which is the most at once. Try again when one of them has ended.`,
    { details: { retryAfterSeconds } },
  );
}
