import { readFile } from 'node:fs/promises';
import { refusalOf } from '../../../faults.ts';
import type { Datasets } from '../../datasets/datasets.ts';
import { mulberry32 } from '../../datasets/splitting/mulberry32.ts';
import { mostSources, shuffled } from './plan-sources.ts';
import type { RowSource, SourceColumns } from './row-making.ts';

const mostBytes = 64 * 2 ** 20;

/**
 * The rows of a dataset of which variants are made, in an order that a seed gives.
 * @throws AppError `invalid` for a dataset without requests and answers as texts, or one that is too large; `not_found`.
 */
export async function sourceRows(
  datasets: Pick<Datasets, 'file' | 'get'>,
  name: string,
  seed: number,
): Promise<RowSource[]> {
  const { validation } = datasets.get(name);
  if (validation.shape !== 'input-output')
    throw refusalOf(
      'dataset',
      `${name} has rows of the shape ${validation.shape ?? 'unknown'}; variants are made of rows with input and output`,
    );
  const { path, bytes } = await datasets.file(name);
  if (bytes > mostBytes)
    throw refusalOf('dataset', `${name} has more than ${mostBytes / 2 ** 20} MiB; split it`);
  const rows = (await readFile(path, 'utf8')).split('\n').flatMap((line): SourceColumns[] => {
    if (line.trim() === '') return [];
    const row = JSON.parse(line);
    return typeof row.input === 'string' && typeof row.output === 'string' ? [row] : [];
  });
  return shuffled(rows, mulberry32(seed))
    .slice(0, mostSources)
    .map((row) => ({ kind: 'row', part: 'training', row }));
}
