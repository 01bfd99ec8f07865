import { createReadStream, existsSync } from 'node:fs';
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
import { createDatasetWriter, type ReceivedFile } from './files/dataset-writer.ts';
import { checkEdits, type RowEdits, withEdits } from './files/edit-rows.ts';
import { fileVersion } from './files/file-version.ts';
import { type ImportNote, noteExtension, readNote } from './files/import-note.ts';
import { createInTurn } from './files/in-turn.ts';
import { moveDataset } from './files/move-dataset.ts';
import { receiveFile } from './files/receive-file.ts';
import { synchronize } from './files/synchronize.ts';
import { foreignIn, isForeign } from './rows/foreign-rows.ts';
import { readRow } from './rows/read-row.ts';
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
  /**
   * Changes, inserts and deletes rows, and stores them as a new version. Runs keep the version that they read.
   * @param version that the edits were made to.
   * @throws AppError `conflict` if it is no longer the version, `invalid` for rows that are not valid or not there.
   */
  editRows(name: string, version: string, edits: RowEdits): Promise<{ dataset: Dataset; version: string }>;
  list(): Dataset[];
  /** As `find`. @throws AppError `not_found`. */
  get(name: string): Dataset;
  /** The dataset with this name, or the one that had it before. */
  find(name: string): Dataset | null;
  /** The dataset with this ID of OpenAI's API. */
  findByFileId(fileId: string): Dataset | null;
  /** @param name that it has now. @throws AppError `not_found`. */
  remove(name: string): Promise<void>;
  /**
   * Renames a dataset. It is found by its former names, and keeps its ID of OpenAI's API.
   * @throws AppError `not_found`, `invalid` for a file name that cannot be one, or `conflict` if it is taken.
   */
  rename(name: string, filename: string): Promise<Dataset>;
  /**
   * Copies a dataset, and what is told of its import.
   * @param filename of the copy; by default one that is free.
   * @throws AppError as `rename`, `unavailable` as `upload`.
   */
  copy(name: string, filename: string | null): Promise<Dataset>;
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
  /** What changes a dataset, its name included, waits for the change before. */
  const inTurn = createInTurn();
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
        return inTurn([name], () => put({ name, aside, validation, note: options.note?.(validation) }));
      });
    },

    addRows(filename, rows) {
      const name = datasetName(filename);
      return inTurn([name], async () => {
        const before = store.get(name) === null ? null : await current(datasets.get(name));
        const path = before === null ? null : join(dir, name);
        const check = (after: Validation) => refuseFaults(before?.validation ?? null, after);
        return read(name, () => replace(name, withRows(path, rows), check));
      });
    },

    editRows: (name, version, edits) =>
      inTurn([name], async () => {
        const requireVersion = async () => {
          if ((await read(name, fileVersion)) !== version) throw changedSince(name);
        };
        const { validation } = await current(named(name));
        await requireVersion();
        checkEdits(edits, validation.shape);
        const dataset = await read(name, (path) => replace(name, withEdits(path, edits), requireVersion));
        return { dataset, version: await read(name, fileVersion) };
      }),

    rename(name, filename) {
      const to = datasetName(filename);
      return inTurn([name, to], async () => {
        const dataset = named(name);
        if (to === name) return dataset;
        if (writer.isComing(name)) {
          throw new AppError('conflict', `${name} is being uploaded. Rename it when the upload has ended.`);
        }
        requireFree(to);
        return writer.reserving([to], async () => {
          await check(name);
          await read(name, () => moveDataset(join(dir, name), join(dir, to)));
          store.rename(name, to);
          return named(to);
        });
      });
    },

    async copy(name, filename) {
      const { name: from } = datasets.get(name);
      await check(from);
      // The name is reserved below before anything else is done.
      const to = filename === null ? (writer.freeNames(from, ['-copy'])[0] as string) : datasetName(filename);
      requireFree(to);
      return receiving([to], async () => {
        const note = (await readNote(join(dir, from))) ?? undefined;
        const received = await read(from, (path) =>
          receive(createReadStream(path, { highWaterMark: 2 ** 20 })),
        );
        return inTurn([to], () => put({ name: to, note, ...received }));
      });
    },

    keepAside: (path, pieces) =>
      receiving([], async () => {
        await receiveFile(dir, path, pieces);
        return (await stat(path)).size;
      }),

    note: (name) => readNote(join(dir, datasets.get(name).name)),

    async convertibleFrom(name) {
      const { name: now, validation } = datasets.get(name);
      return read(now, (path) => foreignIn(path, validation));
    },

    list: () => store.list().map(typed),

    get(name) {
      const dataset = datasets.find(name);
      if (dataset !== null) return dataset;
      throw new AppError('not_found', `There is no dataset "${name.slice(0, 200)}".`);
    },

    find: (name) => (store.get(name) ?? store.getByFormerName(name)) as Dataset | null,
    findByFileId: (fileId) => store.getByFileId(fileId) as Dataset | null,

    remove: (name) =>
      inTurn([name], async () => {
        named(name);
        // A folder that took its place is not Hone's to delete.
        await rm(join(dir, name), { force: true }).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'ERR_FS_EISDIR') throw error;
        });
        await rm(join(dir, name + noteExtension), { force: true });
        store.remove(name);
      }),

    async file(name) {
      const { name: now } = datasets.get(name);
      return { name: now, path: join(dir, now), bytes: await check(now) };
    },

    async holds(name, bytes) {
      const { name: now, sizeBytes } = datasets.get(name);
      if (sizeBytes !== bytes.length || (await check(now)) !== sizeBytes) return false;
      return bytes.equals(await read(now, (path) => readFile(path)));
    },

    async rows(name, wanted) {
      const { name: now, numExamples } = datasets.get(name);
      await check(now);
      const version = await read(now, fileVersion);
      const page = await read(now, (path) => readRowPage(path, wanted));
      return { ...page, version, total: wanted.search === undefined ? numExamples : page.total };
    },

    async row(name, line, signal) {
      const { name: now } = datasets.get(name);
      await check(now);
      const version = await read(now, fileVersion);
      const text = await read(now, (path) => readRow(path, line, signal));
      if (text === null) throw new AppError('not_found', `The dataset ${now} has no line ${line}.`);
      return { text, version };
    },

    async split(name, wanted, signal) {
      const dataset = await current(datasets.get(name));
      return read(dataset.name, () => splitDataset(dir, writer, dataset, wanted, signal));
    },

    async forTraining(reference, shapes) {
      if (isNetworkPath(reference)) throw refusalOf('dataset', networkPathRefusal(reference));
      const stored = datasets.find(reference) ?? (await storedByPath(reference));
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

    reconcile: () => synchronize(dir, store, writer),
  };
  return datasets;

  /** The dataset that has this name now: what changes it goes by no other. */
  function named(name: string): Dataset {
    const dataset = store.get(name);
    if (dataset !== null) return typed(dataset);
    const renamed = store.getByFormerName(name);
    const hint = renamed === null ? '' : ` It was renamed to ${renamed.name}.`;
    throw new AppError('not_found', `There is no dataset "${name.slice(0, 200)}".${hint}`);
  }

  /** @throws AppError `conflict` if there is a file of this name, or will be. */
  function requireFree(name: string): void {
    if (writer.isFree(name) && !existsSync(join(dir, name))) return;
    throw new AppError('conflict', `There is a dataset ${name} already. Choose another name.`);
  }

  async function put(file: ReceivedFile): Promise<Dataset> {
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
      return put({ name, note: (await readNote(join(dir, name))) ?? undefined, ...received });
    });
  }

  /** A stored dataset, validated again if its file is no longer the one that was uploaded. */
  async function current(dataset: Dataset): Promise<Dataset> {
    const { name, sizeBytes } = dataset;
    const isSame = (await check(name)) === sizeBytes;
    if (isSame) return dataset;
    return read(name, async (path) => writer.record(name, await validateFile(path, null)));
  }

  /** The full path of an uploaded dataset counts as stored, so that replacing it is safe. */
  async function storedByPath(reference: string): Promise<Dataset | null> {
    if (!isAbsolute(reference)) return null;
    const [real, own] = await Promise.all([reference, dir].map((path) => realpath(path).catch(() => null)));
    return real && own && real.startsWith(own + sep) ? datasets.find(basename(real)) : null;
  }
}

const changedSince = (name: string) =>
  new AppError(
    'conflict',
    `${name} was changed since you opened it. Load its rows again, and make your edits to them.`,
  );
