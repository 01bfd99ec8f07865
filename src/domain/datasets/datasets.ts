import { readFile, realpath, rm, stat } from 'node:fs/promises';
import { basename, isAbsolute, join, sep } from 'node:path';
import type { RowShape } from '../../contract/rows.ts';
import type { DatasetStore } from '../../db/tables/datasets.ts';
import { AppError } from '../../errors.ts';
import { refusalOf } from '../../faults.ts';
import { isNetworkPath, networkPathRefusal } from '../base-models/files/network-path.ts';
import type { Bin } from '../bin/bin.ts';
import { fileDigest } from '../job-record/data-digest.ts';
import type { Dataset } from './dataset.ts';
import { createDatasetChanges, type DatasetChanges } from './dataset-changes.ts';
import { readDataset } from './files/dataset-file.ts';
import { datasetName } from './files/dataset-name.ts';
import { createDatasetWriter } from './files/dataset-writer.ts';
import { fileVersion } from './files/file-version.ts';
import { type ImportNote, readNote } from './files/import-note.ts';
import { receiveFile } from './files/receive-file.ts';
import { createStoredFiles } from './files/stored-files.ts';
import { synchronize } from './files/synchronize.ts';
import { foreignIn, isForeign, isGradedPrompt } from './rows/foreign-rows.ts';
import { type RowPage, type RowsWanted, readRowPage } from './rows/pages/row-page.ts';
import { readRow } from './rows/read-row.ts';
import type { Validation } from './rows/row-validator.ts';
import { missing, refusedRows, validateFile } from './rows/validate-file.ts';
import { type Split, splitDataset } from './splitting/split-dataset.ts';
import type { SplitWanted } from './splitting/split-sizes.ts';
import type { TrainingData } from './training-data.ts';

/** How an upload differs from that of the page. */
export interface UploadOptions {
  /** Store it under a name that is free, instead of replacing a dataset of this name. */
  readonly keepOthers?: boolean;
  /** Called with the path of what was received, before all else, and may throw to store nothing. */
  readonly received?: (path: string) => Promise<void>;
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

export interface Datasets extends Omit<DatasetChanges, 'put'> {
  /**
   * Stores an upload as it arrives, atomically. Chunks should be large, because each is written by another thread; their
   * memory may change once the next one is requested. @throws AppError `unavailable` when there are too many at once.
   */
  upload(filename: string, pieces: AsyncIterable<Buffer>, options?: UploadOptions): Promise<Dataset>;
  list(): Dataset[];
  /** As `find`. @throws AppError `not_found`. */
  get(name: string): Dataset;
  /** The dataset with this name, or the one that had it before. */
  find(name: string): Dataset | null;
  /** The dataset with this ID of OpenAI's API. */
  findByFileId(fileId: string): Dataset | null;
  /** A dataset's file. @throws AppError `not_found`, or `invalid` if it cannot be read. */
  file(name: string): Promise<{ readonly name: string; readonly path: string; readonly bytes: number }>;
  /** Whether a dataset's file has exactly these bytes. @throws AppError `not_found`. */
  holds(name: string, bytes: Buffer): Promise<boolean>;
  /** Some of the rows, for display, and the version that they are of. */
  rows(name: string, wanted: RowsWanted): Promise<RowPage & { readonly version: string }>;
  /** A line as it is written, by its number from 1. @throws AppError `not_found`. */
  row(name: string, line: number, signal: AbortSignal): Promise<{ text: string; version: string }>;
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
  /** The SHA-256 of a dataset's file. @throws AppError `not_found`. */
  digest(name: string): Promise<string>;
  /** As `fileVersion`. @throws AppError `not_found`. */
  version(name: string): Promise<string>;
  /** Calls `listener` with the name of each dataset that has other rows, is there or is gone, or is not analysed at the start. */
  onChange(listener: (name: string) => void): void;
  /** Synchronizes table and folder after a crash: deletes leftovers and adds unknown files. Not during an upload. */
  reconcile(): Promise<void>;
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a list of short methods over the same files
export function createDatasets(
  dir: string,
  table: DatasetStore,
  limits: { readonly uploadsAtOnce: number },
  bin: Bin,
): Datasets {
  const listeners: ((name: string) => void)[] = [];
  const tell = (name: string) => {
    for (const listener of listeners) listener(name);
  };
  const store = watched(table, tell);
  const writer = createDatasetWriter(dir, store, limits);
  const { receive, receiving } = writer;
  const files = createStoredFiles(dir, writer);
  const { check, current, read } = files;
  const find = (name: string) => (store.get(name) ?? store.getByFormerName(name)) as Dataset | null;
  const get = (name: string) => {
    const dataset = find(name);
    if (dataset !== null) return dataset;
    throw new AppError('not_found', `There is no dataset "${name.slice(0, 200)}".`);
  };
  const { put, ...changes } = createDatasetChanges({ dir, store, bin, writer, files, get });

  return {
    ...changes,
    find,
    get,

    async upload(filename, pieces, options = {}) {
      const name = options.keepOthers
        ? (writer.freeNames(filename, [''])[0] as string)
        : datasetName(filename);
      return receiving([name], async () => {
        const { aside, validation } = await receive(pieces);
        try {
          await options.received?.(aside);
          const hasBadRows = validation.errors.some(({ line }) => line !== null);
          const isOther = async () =>
            hasBadRows
              ? isForeign(await foreignIn(aside, validation))
              : validation.shape === 'messages' && isGradedPrompt(aside);
          if (options.convert && (await isOther())) {
            const made = await options.convert(aside, name);
            await rm(aside, { force: true });
            return made;
          }
          options.check?.(validation);
        } catch (error) {
          await rm(aside, { force: true });
          throw error;
        }
        return put({ name, aside, validation, note: options.note?.(validation) });
      });
    },

    keepAside: (path, pieces) =>
      receiving([], async () => {
        await receiveFile(dir, path, pieces);
        return (await stat(path)).size;
      }),

    note: (name) => readNote(join(dir, get(name).name)),

    async convertibleFrom(name) {
      const { name: now, validation } = get(name);
      return read(now, (path) => foreignIn(path, validation));
    },

    list: () => store.list() as Dataset[],

    findByFileId: (fileId) => store.getByFileId(fileId) as Dataset | null,

    async file(name) {
      const { name: now } = get(name);
      return { name: now, path: join(dir, now), bytes: await check(now) };
    },

    async holds(name, bytes) {
      const { name: now, sizeBytes } = get(name);
      if (sizeBytes !== bytes.length || (await check(now)) !== sizeBytes) return false;
      return bytes.equals(await read(now, (path) => readFile(path)));
    },

    async rows(name, wanted) {
      const { name: now, numExamples } = get(name);
      await check(now);
      const version = await read(now, fileVersion);
      const page = await read(now, (path) => readRowPage(path, { ...wanted, flags: store.flags(now) }));
      const isWhole = wanted.search === undefined && wanted.lines === undefined && !wanted.flagged;
      return { ...page, version, total: isWhole ? numExamples : page.total };
    },

    async row(name, line, signal) {
      const { name: now } = get(name);
      await check(now);
      const version = await read(now, fileVersion);
      const text = await read(now, (path) => readRow(path, line, signal));
      if (text === null) throw new AppError('not_found', `The dataset ${now} has no line ${line}.`);
      return { text, version };
    },

    async split(name, wanted, signal) {
      const dataset = await current(get(name));
      return read(dataset.name, () => splitDataset(dir, writer, dataset, wanted, signal));
    },

    async forTraining(reference, shapes) {
      if (isNetworkPath(reference)) throw refusalOf('dataset', networkPathRefusal(reference));
      const stored = find(reference) ?? (await storedByPath(reference));
      const path = stored === null ? reference : join(dir, stored.name);
      if (stored === null && !isAbsolute(path) && !/[/\\]/.test(path)) {
        throw missing(reference, `upload it first, or use the path of a .jsonl file`);
      }
      const known = stored === null ? null : (await current(stored)).validation;
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

    digest: (name) => read(get(name).name, fileDigest),

    version: (name) => read(get(name).name, fileVersion),

    onChange: (listener) => void listeners.push(listener),

    async reconcile() {
      await synchronize(dir, store, writer);
      for (const { name, findings } of store.list()) if (findings === null) tell(name);
    },
  };

  /** The full path of an uploaded dataset counts as stored, so that replacing it is safe. */
  async function storedByPath(reference: string): Promise<Dataset | null> {
    if (!isAbsolute(reference)) return null;
    const [real, own] = await Promise.all([reference, dir].map((path) => realpath(path).catch(() => null)));
    return real && own && real.startsWith(own + sep) ? find(basename(real)) : null;
  }
}

/** A table of datasets that tells which of them have changed. */
const watched = (table: DatasetStore, tell: (name: string) => void): DatasetStore => ({
  ...table,
  put(dataset) {
    table.put(dataset);
    tell(dataset.name);
  },
  rename(from, name) {
    table.rename(from, name);
    tell(from);
    tell(name);
  },
  remove(name) {
    table.remove(name);
    tell(name);
  },
});
