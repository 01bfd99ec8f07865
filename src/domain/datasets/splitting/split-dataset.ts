import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { minimumRows, rowShapes } from '../../../contract/rows.ts';
import { AppError } from '../../../errors.ts';
import type { Dataset } from '../dataset.ts';
import type { DatasetWriter, ReceivedFile } from '../files/dataset-writer.ts';
import { datasetPart } from './dataset-part.ts';
import { drawGroups, equalRows } from './equal-rows.ts';
import { requireClient } from './require-client.ts';
import { type SplitWanted, splitSizes } from './split-sizes.ts';

/** The two datasets that a split makes. */
export interface Split {
  readonly training: Dataset;
  readonly validation: Dataset;
}

/**
 * Splits a dataset into two new ones, of which none or both are stored. Rows that are equal are in the same one.
 * @param dataset as its file is now.
 * @throws AppError `invalid` if it is not valid, or a part would be too small; `unavailable` if too many files are received.
 */
export async function splitDataset(
  dir: string,
  writer: DatasetWriter,
  dataset: Dataset,
  wanted: SplitWanted,
  signal: AbortSignal,
): Promise<Split> {
  const { name, validation: found } = dataset;
  const { rows, heldOut: asked } = splitSizes(dataset, wanted);
  // A model has learned the answers to rows that it was trained on.
  const groups =
    found.shape === null ? null : await equalRows(join(dir, name), rowShapes[found.shape], rows, signal);
  const drawn = groups && drawGroups(groups, asked, wanted.seed);
  const heldOut = drawn === null ? asked : drawn.filter((one) => one === 1).length;
  if (heldOut < minimumRows) {
    throw new AppError(
      'invalid',
      `Identical rows of ${name} stay together, so only ${heldOut} rows would be held out; at least ${minimumRows} are needed. Remove duplicates, or hold out more rows.`,
    );
  }
  const names = writer.freeNames(name, ['-train', '-validation']);
  return writer.receiving(names, async () => {
    const files: ReceivedFile[] = [];
    try {
      for (const [place, part] of (['training', 'validation'] as const).entries()) {
        const pieces = datasetPart(join(dir, name), { rows, heldOut, seed: wanted.seed, part, drawn });
        const received = await writer.receive(unless(signal, pieces));
        files.push({ name: names[place] as string, ...received });
        const isExact = received.validation.numExamples === (place === 0 ? rows - heldOut : heldOut);
        if (!isExact || !received.validation.valid) {
          throw new AppError('invalid', `The file of ${name} changed while it was split. Try again.`);
        }
      }
    } catch (error) {
      for (const { aside } of files) await rm(aside, { force: true });
      throw error;
    }
    const [training, validation] = await writer.storeAll(files);
    return { training, validation } as Split;
  });
}

/** The pieces, until nobody waits for them. */
async function* unless(signal: AbortSignal, pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    requireClient(signal);
    yield piece;
  }
}
