import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatasetStore } from '../../../db/tables/datasets.ts';
import { AppError } from '../../../errors.ts';
import type { Dataset } from '../dataset.ts';
import { createRowValidator, type Validation } from '../rows/row-validator.ts';
import { datasetName } from './dataset-name.ts';
import { type ImportNote, noteExtension, writeNote } from './import-note.ts';
import { receiveFile } from './receive-file.ts';

/** A file that becomes a dataset. */
export interface ReceivedFile {
  readonly name: string;
  /** Where it is until then. */
  readonly aside: string;
  readonly validation: Validation;
  readonly note?: ImportNote | undefined;
}

/** Writes files of datasets. */
export interface DatasetWriter {
  /** The names of a file with these endings, with a number if one of them is taken. */
  freeNames(filename: string, endings: readonly string[]): string[];
  /** Whether no dataset has a name, nor will an upload in progress. */
  isFree(name: string): boolean;
  /** Whether an upload in progress will have a name. */
  isComing(name: string): boolean;
  /** Reserves names for the time of `work`. */
  reserving<T>(names: readonly string[], work: () => Promise<T>): Promise<T>;
  /** Reserves names while `work` receives their files. @throws AppError `unavailable` when there are too many at once. */
  receiving<T>(names: readonly string[], work: () => Promise<T>): Promise<T>;
  /** Writes a file that is not a dataset yet; the caller stores or deletes it. */
  receive(pieces: AsyncIterable<Buffer>): Promise<Pick<ReceivedFile, 'aside' | 'validation'>>;
  /** Makes datasets of files that were received, of all or none of them. */
  storeAll(files: readonly ReceivedFile[]): Promise<Dataset[]>;
  /** Records what the file of a dataset has now. */
  record(name: string, validation: Validation): Promise<Dataset>;
}

/** Files with names that begin so are no datasets yet, and are deleted after a crash. */
export const uploadPrefix = '.upload-';
/** A file with the names of the datasets that are being stored together. */
export const journalEnding = '.names';

const utf8Bom = Buffer.from([0xef, 0xbb, 0xbf]);
/** When a client that was refused for too many uploads may try again. */
const retryAfterSeconds = 10;

export function createDatasetWriter(
  dir: string,
  store: DatasetStore,
  limits: { readonly uploadsAtOnce: number },
): DatasetWriter {
  let uploads = 0;
  /** The names that files in progress will have, with the number of these. */
  const coming = new Map<string, number>();

  async function describe(path: string, name: string, validation: Validation): Promise<Dataset> {
    const { size, mtime } = await stat(path);
    const { numExamples } = validation;
    const formerNames = store.get(name)?.formerNames ?? [];
    return {
      name,
      numExamples,
      sizeBytes: size,
      uploadedAt: mtime.toISOString(),
      validation,
      formerNames,
      findings: null,
    };
  }

  async function reserving<T>(names: readonly string[], work: () => Promise<T>): Promise<T> {
    const count = (name: string, change: number) => {
      const number = (coming.get(name) ?? 0) + change;
      if (number === 0) coming.delete(name);
      else coming.set(name, number);
    };
    for (const name of names) count(name, 1);
    try {
      return await work();
    } finally {
      for (const name of names) count(name, -1);
    }
  }

  const isFree = (name: string) => store.get(name) === null && !coming.has(name);
  return {
    isFree,
    reserving,
    isComing: (name) => coming.has(name),

    freeNames(filename, endings) {
      for (let count = 1; ; count += 1) {
        const number = count === 1 ? '' : `-${count}`;
        const names = endings.map((ending) => datasetName(filename, `${ending}${number}`));
        if (names.every(isFree)) return names;
      }
    },

    async receiving(names, work) {
      if (uploads >= limits.uploadsAtOnce) {
        throw new AppError(
          'unavailable',
          `${uploads} uploads are in progress, which is the most at once. Try again when one of them has ended.`,
          { details: { retryAfterSeconds } },
        );
      }
      uploads += 1;
      try {
        return await reserving(names, work);
      } finally {
        uploads -= 1;
      }
    },

    async receive(pieces) {
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
    },

    async storeAll(files) {
      const placed: string[] = [];
      // Tells the next start of a crash before all of them are in their place.
      const journal = join(dir, `${uploadPrefix}${randomUUID()}${journalEnding}`);
      try {
        // Another request may delete a dataset as soon as it is in its place.
        const described = files.map(({ aside, name, validation }) => describe(aside, name, validation));
        const made = await Promise.all(described);
        if (files.length > 1) await writeFile(journal, JSON.stringify(files.map(({ name }) => name)));
        for (const { name, aside, note } of files) {
          // What made an earlier dataset of this name is no longer true.
          await rm(join(dir, name + noteExtension), { force: true });
          await rename(aside, join(dir, name)).catch(refuseFolder(name));
          placed.push(join(dir, name));
          if (note !== undefined) await writeNote(join(dir, name), note);
        }
        for (const dataset of made) store.put(dataset);
        return made;
      } catch (error) {
        const left = files.length > 1 ? placed : [];
        for (const path of [...left, ...files.map(({ aside }) => aside)]) await rm(path, { force: true });
        throw error;
      } finally {
        if (files.length > 1) await rm(journal, { force: true });
      }
    },

    async record(name, validation) {
      const dataset = await describe(join(dir, name), name, validation);
      store.put(dataset);
      return dataset;
    },
  };
}

/** Renaming a file onto a folder fails. */
const refuseFolder = (name: string) => (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EISDIR' && error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  const msg = `A folder named ${name} stands where datasets are stored. Upload the file under another name.`;
  throw new AppError('invalid', msg, { cause: error });
};
