import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Dataset } from '../dataset.ts';
import type { Validation } from '../rows/row-validator.ts';
import type { DatasetWriter, ReceivedFile } from './dataset-writer.ts';
import { readNote } from './import-note.ts';

/** What gives a dataset another file. */
export function createReplacing(dir: string, { receive, receiving, storeAll }: DatasetWriter) {
  async function storeOne(file: ReceivedFile): Promise<Dataset> {
    const [dataset] = await storeAll([file]);
    return dataset as Dataset;
  }

  /** Stores other rows for a dataset, unless `check` throws. What is told of its import is kept. */
  function replace(
    name: string,
    pieces: AsyncIterable<Buffer>,
    check: (after: Validation) => void | Promise<void>,
  ): Promise<Dataset> {
    return receiving([name], async () => {
      const received = await receive(pieces);
      try {
        await check(received.validation);
      } catch (error) {
        await rm(received.aside, { force: true });
        throw error;
      }
      return storeOne({ name, note: (await readNote(join(dir, name))) ?? undefined, ...received });
    });
  }

  return { replace, storeOne };
}
