import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, isAbsolute, join, sep } from 'node:path';
import type { RowShape } from '../../contract/rows.ts';
import type { DatasetRow, DatasetStore } from '../../db/datasets.ts';
import { AppError } from '../../errors.ts';
import { refusalOf } from '../../faults.ts';
import { isNetworkPath, networkPathRefusal } from '../base-models/network-path.ts';
import { checkDatasetFile } from './dataset-file.ts';
import { datasetName } from './dataset-name.ts';
import { datasetPart } from './dataset-part.ts';
import { foreignIn, isForeign } from './foreign-rows.ts';
import { type ImportNote, importPrefix, noteExtension, readNote, writeNote } from './imports/import-note.ts';
import { parseOr } from './parse-or.ts';
import { receiveFile } from './receive-file.ts';
import { type RowPage, type RowsWanted, readRowPage } from './row-page.ts';
import { createRowValidator, type Validation } from './row-validator.ts';
import { type SplitWanted, splitSizes } from './split-sizes.ts';
import type { TrainingData } from './training-data.ts';
import { missing, refusedRows, validateFile } from './validate-file.ts';

export type Dataset = DatasetRow<Validation>;

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

/** A file that becomes a dataset. */
interface ReceivedFile {
  readonly name: string;
  readonly aside: string;
  readonly validation: Validation;
  readonly note?: ImportNote | undefined;
}

/** The two datasets that a split makes. */
export interface Split {
  readonly training: Dataset;
  readonly validation: Dataset;
}

export interface Datasets {
  /**
   * Stores an upload as it arrives, atomically. Chunks should be large, because each is written by another thread; their
   * memory may change once the next one is requested. @throws AppError `unavailable` when there are too many at once.
   */
  upload(filename: string, pieces: AsyncIterable<Buffer>, options?: UploadOptions): Promise<Dataset>;
  list(): Dataset[];
  /** @throws AppError `not_found`. */
  get(name: string): Dataset;
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

const utf8Bom = Buffer.from([0xef, 0xbb, 0xbf]);
/** When a client that was refused for too many uploads may try again. */
const retryAfterSeconds = 10;
const uploadPrefix = '.upload-';
const journalEnding = '.names';

export function createDatasets(
  dir: string,
  store: DatasetStore,
  limits: { readonly uploadsAtOnce: number },
): Datasets {
  let uploads = 0;
  const typed = (row: DatasetRow) => row as Dataset;
  const check = (name: string) => checkDatasetFile(join(dir, name), name);

  async function describe(name: string, validation: Validation): Promise<Dataset> {
    const { size, mtime } = await stat(join(dir, name));
    const { numExamples } = validation;
    return { name, numExamples, sizeBytes: size, uploadedAt: mtime.toISOString(), validation };
  }

  async function record(name: string, validation: Validation): Promise<Dataset> {
    const dataset = await describe(name, validation);
    store.put(dataset);
    return dataset;
  }

  /** The names that uploads in progress will have. */
  const coming = new Set<string>();

  const freeName = (filename: string): string => freeNames(filename, [''])[0] as string;

  /** The names of a file with these endings, with a number if one of them is taken. */
  function freeNames(filename: string, endings: readonly string[]): string[] {
    for (let count = 1; ; count += 1) {
      const number = count === 1 ? '' : `-${count}`;
      const names = endings.map((ending) => datasetName(filename, `${ending}${number}`));
      if (names.every((name) => store.get(name) === null && !coming.has(name))) return names;
    }
  }

  /** Writes a file that is not a dataset yet; the caller renames or deletes it. */
  async function receive(pieces: AsyncIterable<Buffer>): Promise<{ aside: string; validation: Validation }> {
    await mkdir(dir, { recursive: true });
    const aside = join(dir, `${uploadPrefix}${randomUUID()}.partial`);
    const validator = createRowValidator(null);
    async function* validated() {
      let first = true;
      for await (const piece of pieces) {
        const bytes = first && piece.subarray(0, 3).equals(utf8Bom) ? piece.subarray(3) : piece;
        first = false;
        validator.push(bytes);
        yield bytes;
      }
    }
    try {
      await receiveFile(dir, aside, validated());
      return { aside, validation: validator.finish() };
    } catch (error) {
      await rm(aside, { force: true });
      throw error;
    }
  }

  /** Stores files that were received, none or all of them. */
  async function storeAll(files: readonly ReceivedFile[]): Promise<Dataset[]> {
    const placed: string[] = [];
    // Tells the next start of a crash before all of them are in their place.
    const journal = join(dir, `${uploadPrefix}${randomUUID()}${journalEnding}`);
    try {
      if (files.length > 1) await writeFile(journal, JSON.stringify(files.map(({ name }) => name)));
      for (const { name, aside, note } of files) {
        // What made an earlier dataset of this name is no longer true.
        await rm(join(dir, name + noteExtension), { force: true });
        await rename(aside, join(dir, name)).catch(refuseFolder(name));
        placed.push(join(dir, name));
        if (note !== undefined) await writeNote(join(dir, name), note);
      }
      const made = await Promise.all(files.map(({ name, validation }) => describe(name, validation)));
      for (const dataset of made) store.put(dataset);
      return made;
    } catch (error) {
      const left = files.length > 1 ? placed : [];
      for (const path of [...left, ...files.map(({ aside }) => aside)]) await rm(path, { force: true });
      throw error;
    } finally {
      if (files.length > 1) await rm(journal, { force: true });
    }
  }

  /** Reserves names while `work` receives their files. @throws AppError `unavailable` when there are too many at once. */
  async function receiving<T>(names: readonly string[], work: () => Promise<T>): Promise<T> {
    if (uploads >= limits.uploadsAtOnce) {
      throw new AppError(
        'unavailable',
        `${uploads} uploads are in progress, which is the most at once. Try again when one of them has ended.`,
        { details: { retryAfterSeconds } },
      );
    }
    uploads += 1;
    for (const name of names) coming.add(name);
    try {
      return await work();
    } finally {
      uploads -= 1;
      for (const name of names) coming.delete(name);
    }
  }

  const datasets: Datasets = {
    async upload(filename, pieces, options = {}) {
      const name = options.keepOthers ? freeName(filename) : datasetName(filename);
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

    keepAside: (path, pieces) =>
      receiving([], async () => {
        await receiveFile(dir, path, pieces);
        return (await stat(path)).size;
      }),

    note: (name) => readNote(join(dir, datasets.get(name).name)),

    async convertibleFrom(name) {
      return foreignIn(join(dir, name), datasets.get(name).validation);
    },

    list: () => store.list().map(typed),

    get(name) {
      const dataset = store.get(name);
      if (dataset === null) throw new AppError('not_found', `There is no dataset "${name.slice(0, 200)}".`);
      return typed(dataset);
    },

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
      return bytes.equals(await readFile(join(dir, name)));
    },

    async rows(name, wanted) {
      const { numExamples } = datasets.get(name);
      await check(name);
      const page = await readRowPage(join(dir, name), wanted);
      return wanted.search === undefined ? { ...page, total: numExamples } : page;
    },

    async split(name, wanted, signal) {
      const dataset = await current(datasets.get(name));
      const { rows, heldOut } = splitSizes(dataset, wanted);
      const names = freeNames(name, ['-train', '-validation']);
      return receiving(names, async () => {
        const files: ReceivedFile[] = [];
        try {
          for (const [place, part] of (['training', 'validation'] as const).entries()) {
            const pieces = datasetPart(join(dir, name), { rows, heldOut, seed: wanted.seed, part });
            const received = await receive(unless(signal, pieces));
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
        const [training, validation] = await storeAll(files);
        return { training, validation } as Split;
      });
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
          : await validateFile(path, shapes);
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

    async reconcile() {
      await mkdir(dir, { recursive: true });
      const names = new Set<string>();
      const entries = await readdir(dir, { withFileTypes: true });
      const isJournal = (name: string) => name.startsWith(uploadPrefix) && name.endsWith(journalEnding);
      const unfinished = entries.filter(({ name }) => isJournal(name));
      const left = new Set(
        (await Promise.all(unfinished.map(({ name }) => namesIn(join(dir, name))))).flat(),
      );
      const isThere = new Set(entries.map(({ name }) => name));
      const isOrphan = (name: string) =>
        name.endsWith(`.jsonl${noteExtension}`) && !isThere.has(name.slice(0, -noteExtension.length));
      for (const entry of entries) {
        const { name } = entry;
        if (name.startsWith(importPrefix)) await rm(join(dir, name), { recursive: true, force: true });
        else if (name.startsWith(uploadPrefix) || left.has(name) || isOrphan(name))
          await rm(join(dir, name), { force: true });
        else if (entry.isFile() && name.endsWith('.jsonl')) names.add(name);
      }
      for (const { name } of store.list()) if (!names.has(name)) store.remove(name);
      for (const name of names) {
        const known = store.get(name);
        const { size, mtime } = await stat(join(dir, name));
        const isSame = known?.sizeBytes === size && known.uploadedAt === mtime.toISOString();
        if (isSame && !isOutdated(typed(known))) continue;
        await record(name, await validateFile(join(dir, name), null));
      }
    },
  };
  return datasets;

  /** A stored dataset, validated again if its file is no longer the one that was uploaded. */
  async function current(dataset: Dataset): Promise<Dataset> {
    const { name, sizeBytes } = dataset;
    const isSame = (await check(name)) === sizeBytes;
    return isSame ? dataset : record(name, await validateFile(join(dir, name), null));
  }

  /** The full path of an uploaded dataset counts as stored, so that replacing it is safe. */
  async function storedByPath(reference: string): Promise<DatasetRow | null> {
    if (!isAbsolute(reference)) return null;
    const [real, own] = await Promise.all([reference, dir].map((path) => realpath(path).catch(() => null)));
    return real && own && real.startsWith(own + sep) ? store.get(basename(real)) : null;
  }
}

/** The names that a crash left behind; none if not even they were written. */
async function namesIn(path: string): Promise<string[]> {
  const names: unknown = parseOr(await readFile(path, 'utf8'), null);
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
}

/** The pieces, until nobody waits for them. */
async function* unless(signal: AbortSignal, pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    if (signal.aborted) throw new AppError('invalid', 'The client left before the dataset was split.');
    yield piece;
  }
}

/** Whether a dataset of conversations was refused by version 2.0, which did not know them. */
const isOutdated = ({ validation }: Dataset): boolean =>
  validation.errors?.[0]?.message.includes('OpenAI messages format') ?? false;

/** Renaming a file onto a folder fails. */
const refuseFolder = (name: string) => (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EISDIR' && error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  const msg = `A folder named ${name} stands where datasets are stored. Upload the file under another name.`;
  throw new AppError('invalid', msg, { cause: error });
};
