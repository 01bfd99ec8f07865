import { join } from 'node:path';
import type { Dataset } from '../dataset.ts';
import { validateFile } from '../rows/validate-file.ts';
import { checkDatasetFile, readDataset } from './dataset-file.ts';
import type { DatasetWriter } from './dataset-writer.ts';

/** The files of stored datasets, which another request or program may delete at any time. */
export interface StoredFiles {
  /** As `checkDatasetFile`. @returns the size in bytes. */
  check(name: string): Promise<number>;
  /** Runs what reads a dataset's file. @throws AppError `not_found` if the file is gone when it is opened. */
  read<T>(name: string, work: (path: string) => Promise<T>): Promise<T>;
  /** A dataset, validated again if its file is no longer the one that was stored. */
  current(dataset: Dataset): Promise<Dataset>;
}

export function createStoredFiles(dir: string, writer: Pick<DatasetWriter, 'record'>): StoredFiles {
  const pathOf = (name: string) => join(dir, name);
  const check = (name: string) => checkDatasetFile(pathOf(name), name);
  const read = <T>(name: string, work: (path: string) => Promise<T>) =>
    readDataset(pathOf(name), name, () => work(pathOf(name)));
  return {
    check,
    read,
    async current(dataset) {
      const { name, sizeBytes } = dataset;
      if ((await check(name)) === sizeBytes) return dataset;
      return read(name, async (path) => writer.record(name, await validateFile(path, null)));
    },
  };
}
