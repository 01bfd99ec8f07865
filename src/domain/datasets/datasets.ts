import { readFile, realpath, rm, stat } from 'node:fs/promises';
import { basename, isAbsolute, join, sep } from 'node:path';
import type { RowShape } from '../../contract/rows.ts';
import type { DatasetRow, DatasetStore } from '../../db/tables/datasets.ts';
import { AppError } from '../../errors.ts';
import { refusalOf } from '../../faults.ts';
import { isNetworkPath, networkPathRefusal } from '../base-models/files/network-path.ts';
import type { Dataset } from './dataset.ts';
import { refuseFaults, withRows } from './files/append-rows.ts';
import { checkDatasetFile, readDataset } from './files/dataset-file.ts';
import { datasetName } from './files/dataset-name.ts';
import { createDatasetWriter } from './files/dataset-writer.ts';
import { type ImportNote, noteExtension, readNote } from './files/import-note.ts';
import { receiveFile } from './files/receive-file.ts';
import { synchronize } from './files/synchronize.ts';
import { foreignIn, isForeign } from './rows/foreign-rows.ts';
import { type RowPage, type RowsWanted, readRowPage } from './rows/row-page.ts';
import type { Validation } from './rows/row-validator.ts';
import { missing, refusedRows, validateFile } from './rows/validate-file.ts';
import { type Split, splitDataset } from './splitting/split-dataset.ts';
import type { SplitWanted } from './splitting/split-sizes.ts';
import type { TrainingData } from './training-data.ts';

/** How an upload differs from that of the page. */
export interface UploadOptions {
  /** Store it under a name that is free, instead of replacing a dataset of this name. */
  readonly keepOthers?: boolean;
  /** Called before it is stored, and may throw to store nothing. */
  readonly check?: (validation: Validation) => void;
  /**
   * Called for rows that are in the format of another tool, which are not stored then.
   * @param path of the file, which is deleted afterwards.
   * @param name that the dataset would get, and that it keeps reserved.
   * @returns the dataset to be used instead.
   */
  readonly convert?: (path: string, name: string) => Promise<Dataset>;
  /** What is kept beside the dataset, if an import made it. */
  readonly note?: (validation: Validation) => ImportNote;
}

export interface Datasets {
  /**
   * Stores an upload as it arrives, atomically. Chunks should be large, because each is written by another thread; their
   * memory may change once the next one is requested. @throws AppError `unavailable` when there are too many at once.
   */
  upload(filename: string, pieces: AsyncIterable<Buffer>, options?: UploadOptions): Promise<Dataset>;
  /**
   * Adds rows to a dataset, or makes one of them; one change of a dataset at a time. Runs keep the rows that they had.
   * @throws AppError `invalid` if they are no rows of its shape; `unavailable` as `upload`.
   */
  addRows(filename: string, rows: readonly object[]): Promise<Dataset>;
  list(): Dataset[];
  /** @throws AppError `not_found`. */
  get(name: string): Dataset;
  find(name: string): Dataset | null;
  /** The dataset with this ID of OpenAI's API. */
  findByFileId(fileId: string): Dataset | null;
  remove(name: string): Promise<void>;
  /** A dataset's file. @throws AppError `not_found`, or `invalid` if it cannot be read. */
  file(name: string): Promise<{ readonly path: string; readonly bytes: number }>;
  /** Whether a dataset's file has exactly these bytes. @throws AppError `not_found`. */
  holds(name: string, bytes: Buffer): Promise<boolean>;
  /** Some of the rows, for display. */
  rows(name: string, wanted: RowsWanted): Promise<RowPage>;
  /**
   * Splits a dataset into two new ones, named after it with `-train` and `-validation`, of which none or both are stored.
   * @throws AppError `invalid` if it is not valid, or a part would be too small; `unavailable` as `upload`.
   */
  split(name: string, wanted: SplitWanted, signal: AbortSignal): Promise<Split>;
  /** Receives a file that is no dataset yet, within the limits of uploads. @returns its size in bytes. */
  keepAside(path: string, pieces: AsyncIterable<Buffer>): Promise<number>;
  /** What made a dataset, if it was imported. */
  note(name: string): Promise<ImportNote | null>;
  /** The format of another tool that the first row of a dataset is in, and from which it can be imported. */
  convertibleFrom(name: string): Promise<string | null>;
  /**
   * Finds a dataset for training by name or path, and validates every row.
   * @param shapes the shapes that the rows may have; `null` for every shape.
   * @throws AppError `invalid` with the first errors, or `not_found`.
   */
  forTraining(reference: string, shapes: readonly RowShape[] | null): Promise<TrainingData>;
  /** Synchronizes table and folder after a crash: deletes leftovers and adds unknown files. Not during an upload. */
  reconcile(): Promise<void>;
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its methods share which datasets are in use
export function createDatasets(
  dir: string,
  store: DatasetStore,
  limits: { readonly uploadsAtOnce: number },
): Datasets {
  const writer = createDatasetWriter(dir, store, limits);
  const { receive, receiving, storeAll } = writer;
  /** The latest change of each dataset that rows are added to. */
  const adding = new Map<string, Promise<unknown>>();
  const typed = (row: DatasetRow) => row as Dataset;
  const check = (name: string) => checkDatasetFile(join(dir, name), name);
  const read = <T>(name: string, work: (path: string) => Promise<T>) =>
    readDataset(join(dir, name), name, () => work(join(dir, name)));

  const datasets: Datasets = {
    async upload(filename, pieces, options = {}) {
      const name = options.keepOthers
        ? (writer.freeNames(filename, [''])[0] as string)
        : datasetName(filename);
      return receiving([name], async () => {
        const { aside, validation } = await receive(pieces);
        try {
          const hasBadRows = validation.errors.some(({ line }) => line !== null);
          if (options.convert && hasBadRows && isForeign(await foreignIn(aside, validation))) {
            const made = await options.convert(aside, name);
            await rm(aside, { force: true });
            return made;
          }
          options.check?.(validation);
        } catch (error) {
          await rm(aside, { force: true });
          throw error;
        }
        const [dataset] = await storeAll([{ name, aside, validation, note: options.note?.(validation) }]);
        return dataset as Dataset;
      });
    },

    addRows(filename, rows) {
      const name = datasetName(filename);
      const add = async () => {
        const before = store.get(name) === null ? null : await current(datasets.get(name));
        const path = before === null ? null : join(dir, name);
        const check = (after: Validation) => refuseFaults(before?.validation ?? null, after);
        return read(name, () => datasets.upload(name, withRows(path, rows), { check }));
      };
      const added = (adding.get(name) ?? Promise.resolve()).then(add, add);
      adding.set(name, added);
      const forget = () => void (adding.get(name) === added && adding.delete(name));
      added.then(forget, forget);
      return added;
    },

    keepAside: (path, pieces) =>
      receiving([], async () => {
        await receiveFile(dir, path, pieces);
        return (await stat(path)).size;
      }),

    note: (name) => readNote(join(dir, datasets.get(name).name)),

    async convertibleFrom(name) {
      const { validation } = datasets.get(name);
      return read(name, (path) => foreignIn(path, validation));
    },

    list: () => store.list().map(typed),

    get(name) {
      const dataset = datasets.find(name);
      if (dataset !== null) return dataset;
      throw new AppError('not_found', `There is no dataset "${name.slice(0, 200)}".`);
    },

    find: (name) => store.get(name) as Dataset | null,
    findByFileId: (fileId) => store.getByFileId(fileId) as Dataset | null,

    async remove(name) {
      datasets.get(name);
      // A folder that took its place is not Hone's to delete.
      await rm(join(dir, name), { force: true }).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ERR_FS_EISDIR') throw error;
      });
      await rm(join(dir, name + noteExtension), { force: true });
      store.remove(name);
    },

    async file(name) {
      const bytes = await check(datasets.get(name).name);
      return { path: join(dir, name), bytes };
    },

    async holds(name, bytes) {
      const { sizeBytes } = datasets.get(name);
      if (sizeBytes !== bytes.length || (await check(name)) !== sizeBytes) return false;
      return bytes.equals(await read(name, (path) => readFile(path)));
    },

    async rows(name, wanted) {
      const { numExamples } = datasets.get(name);
      await check(name);
      const page = await read(name, (path) => readRowPage(path, wanted));
      return wanted.search === undefined ? { ...page, total: numExamples } : page;
    },

    async split(name, wanted, signal) {
      const dataset = await current(datasets.get(name));
      return read(name, () => splitDataset(dir, writer, dataset, wanted, signal));
    },

    async forTraining(reference, shapes) {
      if (isNetworkPath(reference)) throw refusalOf('dataset', networkPathRefusal(reference));
      const stored = store.get(reference) ?? (await storedByPath(reference));
      const path = stored === null ? reference : join(dir, stored.name);
      if (stored === null && !isAbsolute(path) && !/[/\\]/.test(path)) {
        throw missing(reference, `upload it first, or use the path of a .jsonl file`);
      }
      const known = stored === null ? null : (await current(typed(stored))).validation;
      const validation =
        known?.valid && (shapes === null || shapes.some((shape) => shape === known.shape))
          ? known
          : await readDataset(path, basename(path), () => validateFile(path, shapes));
      const { shape } = validation;
      if (!validation.valid || shape === null) {
        throw refusedRows('Dataset validation failed', validation);
      }
      return {
        name: basename(path),
        path,
        numExamples: validation.numExamples,
        shape,
        stored: stored !== null,
      };
    },

    reconcile: () => synchronize(dir, store, writer),
  };
  return datasets;

  /** A stored dataset, validated again if its file is no longer the one that was uploaded. */
  async function current(dataset: Dataset): Promise<Dataset> {
    const { name, sizeBytes } = dataset;
    const isSame = (await check(name)) === sizeBytes;
    if (isSame) return dataset;
    return read(name, async (path) => writer.record(name, await validateFile(path, null)));
  }

  /** The full path of an uploaded dataset counts as stored, so that replacing it is safe. */
  async function storedByPath(reference: string): Promise<DatasetRow | null> {
    if (!isAbsolute(reference)) return null;
    const [real, own] = await Promise.all([reference, dir].map((path) => realpath(path).catch(() => null)));
    return real && own && real.startsWith(own + sep) ? store.get(basename(real)) : null;
  }
}
