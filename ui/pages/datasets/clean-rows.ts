import type { Body } from '../../api/routes.ts';
import { service } from '../../api/service.ts';
import { formatCount } from '../../elements/format.ts';
import { toasts } from '../../state/app.ts';
import { asServiceError } from '../../state/remote.ts';

/** What can be put right in all rows of a dataset at once. */
export type Fix = Body<'POST /api/datasets/{name}/cleaning'>['fix'];

const rowsWere = (count: number) => (count === 1 ? '1 row was' : `${formatCount(count)} rows were`);

/**
 * Puts something right in all rows, and tells so with *Undo*.
 * @param changed is called when *Undo* has put the former rows back, or could not.
 */
export async function cleanRows(
  name: string,
  body: { readonly version: string; readonly fix: Fix },
  changed: () => void,
): Promise<void> {
  const { removed_rows: removed, changed_rows: trimmed } = await service.cleanRows(name, body);
  const words = trimmed > 0 ? `${rowsWere(trimmed)} trimmed.` : `${rowsWere(removed)} removed.`;
  toasts.show(words, 'info', () => void takeBack(name).then(changed));
}

/** Puts back the rows before all of them were changed at once, and tells so. */
export async function takeBack(name: string): Promise<void> {
  try {
    await service.takeBackCleaning(name);
    toasts.show('The rows are as they were.');
  } catch (error) {
    toasts.show(asServiceError(error).message, 'error');
  }
}
