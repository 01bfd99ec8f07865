import { asAppError } from '../../errors.ts';
import type { OpenAiAccess } from '../../openai-source/access.ts';
import { download } from '../../openai-source/openai-source.ts';
import type { Dataset } from '../datasets/dataset.ts';
import type { Datasets } from '../datasets/datasets.ts';
import type { Imports } from '../datasets/imports/imports.ts';
import type { MovedFile } from './moved-records.ts';

/** Where files become datasets. */
interface Target {
  readonly datasets: Datasets;
  readonly imports: Imports;
}

/** Stores a file as a dataset. A file that cannot be had is told, and the others go on. */
export async function fetchFile(
  to: Target,
  access: OpenAiAccess,
  file: MovedFile,
  onBytes: (bytes: number) => void,
): Promise<MovedFile> {
  const named = file.filename || file.id;
  const filename = /\.jsonl$/i.test(named) ? named : `${named}.jsonl`;
  try {
    const dataset = await download(access, file, (pieces) =>
      to.datasets.upload(filename, counted(pieces, onBytes), { keepOthers: true }),
    );
    return { ...file, state: 'stored', ...(await usable(to, dataset)) };
  } catch (thrown) {
    const { kind, message, details } = asAppError(thrown);
    const isOwn = details.code === 'missing' || details.code === 'refused' || kind === 'invalid';
    if (!isOwn || access.signal.aborted) throw thrown;
    return { ...file, state: 'unavailable', problem: message };
  }
}

/** The dataset of a file, converted if its rows are in another format, and what is wrong with it. */
async function usable(
  { datasets, imports }: Target,
  { name, validation }: Dataset,
): Promise<Pick<MovedFile, 'dataset' | 'problem'>> {
  const format = await datasets.convertibleFrom(name);
  if (format !== null && format !== 'columns') {
    try {
      return { dataset: (await imports.convertDataset(name)).name, problem: null };
    } catch (thrown) {
      const { message } = asAppError(thrown);
      return { dataset: name, problem: `Its rows cannot be converted for training: ${message}` };
    }
  }
  const reason = validation.errors[0]?.message ?? 'they are of no known shape';
  return { dataset: name, problem: validation.valid ? null : `Its rows cannot be trained on: ${reason}` };
}

async function* counted(pieces: AsyncIterable<Buffer>, onBytes: (bytes: number) => void) {
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    onBytes(bytes);
    yield piece;
  }
}
