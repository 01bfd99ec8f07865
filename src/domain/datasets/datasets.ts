import { randomUUID } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { copyFile, link, mkdir, readdir, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, sep } from 'node:path';
import type { RowShape } from '../../contract/rows.ts';
import type { DatasetRow, DatasetStore } from '../../db/datasets.ts';
import { AppError } from '../../errors.ts';
import { refusalOf } from '../../faults.ts';
import { isNetworkPath, networkPathRefusal } from '../base-models/network-path.ts';
import { checkRoom } from '../machine/disk-room.ts';
import { checkDatasetFile } from './dataset-file.ts';
import { datasetName } from './dataset-name.ts';
import { createNewFile } from './new-file.ts';
import { readLines } from './read-lines.ts';
import { converterFor } from './row-converter.ts';
import { type RowPage, type RowsWanted, readRowPage } from './row-page.ts';
import { createRowValidator, maximumLineBytes, type Validation } from './row-validator.ts';

export type Dataset = DatasetRow<Validation>;

/** A dataset for training: the path and number of its rows. */
export interface TrainingData {
  readonly name: string;
  readonly path: string;
  readonly numExamples: number;
  readonly shape: RowShape;
  /** Whether the file is managed by Hone and replaced by renaming, so that a hard link keeps its rows. */
  readonly stored: boolean;
}

/** How an upload differs from that of the page. */
export interface UploadOptions {
  /** Store it under a name that is free, instead of replacing a dataset of this name. */
  readonly keepOthers?: boolean;
  /** Called before it is stored, and may throw to store nothing. */
  readonly check?: (validation: Validation) => void;
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
  /** Converts a dataset in another tool's format. @throws AppError `invalid` if the format is unknown. */
  convert(name: string): Promise<Dataset>;
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
/** The free space of the disk is checked for this many bytes ahead. */
const roomStepBytes = 2 ** 21;
const uploadPrefix = '.upload-';
/** Converted rows are written in chunks of about this many characters. */
const pieceLength = 2 ** 19;

export function createDatasets(
  dir: string,
  store: DatasetStore,
  limits: { readonly uploadsAtOnce: number },
): Datasets {
  let uploads = 0;
  const typed = (row: DatasetRow) => row as Dataset;
  const check = (name: string) => checkDatasetFile(join(dir, name), name);

  async function record(name: string, validation: Validation): Promise<Dataset> {
    const { size, mtime } = await stat(join(dir, name));
    const dataset: Dataset = {
      name,
      numExamples: validation.numExamples,
      sizeBytes: size,
      uploadedAt: mtime.toISOString(),
      validation,
    };
    store.put(dataset);
    return dataset;
  }

  /** The names that uploads in progress will have. */
  const coming = new Set<string>();

  function freeName(filename: string): string {
    for (let count = 1; ; count += 1) {
      const name = datasetName(filename, count === 1 ? '' : `-${count}`);
      if (store.get(name) === null && !coming.has(name)) return name;
    }
  }

  async function receive(
    name: string,
    pieces: AsyncIterable<Buffer>,
    check: UploadOptions['check'],
  ): Promise<Dataset> {
    await mkdir(dir, { recursive: true });
    const aside = join(dir, `${uploadPrefix}${randomUUID()}.partial`);
    const validator = createRowValidator(null);
    try {
      const file = await createNewFile(aside);
      try {
        let first = true;
        let roomBytes = 0;
        for await (const piece of pieces) {
          roomBytes -= piece.length;
          if (roomBytes < 0) {
            roomBytes = Math.max(roomStepBytes, piece.length);
            await checkRoom(dir, roomBytes);
          }
          const bytes = first && piece.subarray(0, 3).equals(utf8Bom) ? piece.subarray(3) : piece;
          first = false;
          validator.push(bytes);
          await file.append(bytes);
        }
        await file.sync();
      } finally {
        await file.close();
      }
      const validation = validator.finish();
      check?.(validation);
      await rename(aside, join(dir, name)).catch(refuseFolder(name));
      return await record(name, validation);
    } catch (error) {
      await rm(aside, { force: true });
      throw error;
    }
  }

  const datasets: Datasets = {
    async upload(filename, pieces, options = {}) {
      const name = options.keepOthers ? freeName(filename) : datasetName(filename);
      if (uploads >= limits.uploadsAtOnce) {
        throw new AppError(
          'unavailable',
          `${uploads} uploads are in progress, which is the most at once. Try again when one of them has ended.`,
          { details: { retryAfterSeconds } },
        );
      }
      uploads += 1;
      coming.add(name);
      try {
        return await receive(name, pieces, options.check);
      } finally {
        uploads -= 1;
        coming.delete(name);
      }
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

    async convert(name) {
      const dataset = datasets.get(name);
      await check(dataset.name);
      const convert = converterFor(await firstRow(join(dir, dataset.name)));
      if (convert === null) {
        throw new AppError(
          'invalid',
          `The rows of ${name} are in none of the formats that can be converted (Alpaca, ShareGPT).`,
        );
      }
      async function* converted() {
        let text = '';
        let number = 0;
        for await (const line of readLines(join(dir, dataset.name), maximumLineBytes)) {
          number += 1;
          if (line.isCut) {
            throw new AppError(
              'invalid',
              `Line ${number} of ${name} is longer than ${maximumLineBytes} bytes. Split the row.`,
            );
          }
          if (line.text.trim() === '') continue;
          for (const row of convert?.(parseOr(line.text, null)) ?? []) text += `${JSON.stringify(row)}\n`;
          if (text.length < pieceLength) continue;
          yield Buffer.from(text);
          text = '';
        }
        yield Buffer.from(text);
      }
      return datasets.upload(datasetName(name, '-converted'), converted());
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
        const first = validation.errors.slice(0, 5).map((error) => error.message);
        const more =
          validation.totalErrors > first.length ? ` (and ${validation.totalErrors - first.length} more)` : '';
        throw new AppError('invalid', `Dataset validation failed: ${first.join('; ')}${more}`, {
          details: { validation },
        });
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
      for (const entry of await readdir(dir, { withFileTypes: true })) {
        if (entry.name.startsWith(uploadPrefix)) await rm(join(dir, entry.name), { force: true });
        else if (entry.isFile() && entry.name.endsWith('.jsonl')) names.add(entry.name);
      }
      for (const { name } of store.list()) if (!names.has(name)) store.remove(name);
      for (const name of names) {
        const known = store.get(name);
        const { size, mtime } = await stat(join(dir, name));
        if (known?.sizeBytes === size && known.uploadedAt === mtime.toISOString()) continue;
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

/** Renaming a file onto a folder fails. */
const refuseFolder = (name: string) => (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EISDIR' && error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  const msg = `A folder named ${name} stands where datasets are stored. Upload the file under another name.`;
  throw new AppError('invalid', msg, { cause: error });
};

function missing(reference: string, advice: string): AppError {
  const msg = `There is no dataset "${reference.slice(0, 200)}"; ${advice}.`;
  return new AppError('not_found', msg, { issues: [{ loc: ['body', 'dataset'], msg, type: 'value_error' }] });
}

/**
 * Validates the rows of a file.
 * @throws AppError `not_found`, or `invalid` for what is no `.jsonl` file.
 */
export async function validateFile(path: string, shapes: readonly RowShape[] | null): Promise<Validation> {
  const file = await stat(path).catch(() => null);
  if (file === null || path.includes('\0')) throw missing(path, 'check the path');
  if (!file.isFile() || !path.toLowerCase().endsWith('.jsonl')) {
    throw new AppError('invalid', `The dataset must be a .jsonl file; "${path.slice(0, 200)}" is not one.`);
  }
  const validator = createRowValidator(shapes);
  for await (const chunk of createReadStream(path, { highWaterMark: 2 ** 18 }))
    validator.push(chunk as Buffer);
  return validator.finish();
}

async function firstRow(path: string): Promise<unknown> {
  for await (const { text } of readLines(path, maximumLineBytes)) {
    if (text.trim() !== '') return parseOr(text, null);
  }
  return null;
}

function parseOr<T>(line: string, fallback: T): unknown | T {
  try {
    return JSON.parse(line);
  } catch {
    return fallback;
  }
}

/** Gives a job its own copy of the rows, unaffected by later uploads. */
export async function freezeRows(data: TrainingData, target: string): Promise<void> {
  await rm(target, { force: true });
  if (data.stored) {
    try {
      return await link(data.path, target);
    } catch {
      // Another file system, or one without hard links.
    }
  }
  // A copy that shares its blocks with the original, where the file system can.
  await checkRoom(dirname(target), (await stat(data.path)).size);
  await copyFile(data.path, target, constants.COPYFILE_FICLONE);
}
