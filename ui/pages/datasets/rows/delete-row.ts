import { service } from '../../../api/service.ts';
import { formatCount } from '../../../elements/format.ts';
import { toasts } from '../../../state/app.ts';
import { asServiceError } from '../../../state/remote.ts';

/**
 * Deletes a row, and tells so with *Undo*, which puts it back as it was written.
 * @param version of the rows that are shown.
 * @param changed is called whenever the rows are others than those that are shown.
 */
export async function deleteRow(
  name: string,
  line: number,
  version: string,
  changed: () => void,
): Promise<void> {
  await tell(async () => {
    const { text } = await service.datasetRow(name, line);
    await service.editRows(name, { version, deletions: [line] });
    toasts.show(`Row ${formatCount(line)} was deleted.`, 'info', () => void tell(() => putBack(text)));
  });

  async function putBack(text: string): Promise<void> {
    // The rows may have changed since, but this one is in none of their versions.
    const { version: now } = await service.dataset(name, { rows: 0 });
    await service.editRows(name, { version: now, insertions: [{ line, text }] });
    toasts.show(`Row ${formatCount(line)} is back.`);
  }

  async function tell(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      toasts.show(asServiceError(error).message, 'error');
    }
    changed();
  }
}
