import { createHash } from 'node:crypto';
import type { RowMakingStore } from '../../../db/tables/documents/row-makings.ts';
import type { Datasets } from '../../datasets/datasets.ts';
import { datasetName } from '../../datasets/files/dataset-name.ts';
import type { RowMaking, RowPart, WrittenDataset } from './row-making.ts';

const pageSources = 200;

/** The rows of one part as JSONL, in the order of their sources. */
async function* rowsOf(store: RowMakingStore, making: number, part: RowPart): AsyncGenerator<Buffer> {
  for (let after = 0; ; ) {
    const page = store.sources(making, after, pageSources);
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.number;
    const rows = page
      .filter(({ source }) => (source as { part: RowPart }).part === part)
      .flatMap(({ rows }) => rows ?? []);
    yield Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  }
}

async function digestOf(pieces: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of pieces) hash.update(piece);
  return hash.digest('hex');
}

/**
 * Writes the rows that were made so far as datasets. One that was written before is replaced, unless somebody has changed,
 * renamed or deleted it; other datasets never are.
 */
export async function writeRows(
  datasets: Pick<Datasets, 'upload' | 'find' | 'digest'>,
  store: RowMakingStore,
  number: number,
  { request, rows, datasets: before }: Pick<RowMaking, 'request' | 'rows' | 'datasets'>,
): Promise<RowMaking['datasets']> {
  /** Whether there is a dataset of this name with these bytes. */
  const holds = async (name: string, sha256: string) =>
    datasets.find(name)?.name === name && (await datasets.digest(name).catch(() => null)) === sha256;

  async function written(part: RowPart): Promise<WrittenDataset | null> {
    const earlier = before[part];
    if (rows[part] === 0) return earlier;
    const isOurs = earlier !== null && (await holds(earlier.name, earlier.sha256));
    const name = isOurs
      ? earlier.name
      : datasetName(`${request.name}.jsonl`, part === 'validation' ? '-validation' : '');
    const sha256 = await digestOf(rowsOf(store, number, part));
    // It may have been written just before the service ended.
    if (await holds(name, sha256)) return { name, sha256 };
    const made = await datasets.upload(name, rowsOf(store, number, part), { keepOthers: !isOurs });
    return { name: made.name, sha256 };
  }
  const [training, validation] = [await written('training'), await written('validation')];
  return { training, validation };
}
