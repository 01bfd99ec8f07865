import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type DatasetStore, datasetFileId } from '../../db/tables/datasets.ts';
import { AppError } from '../../errors.ts';
import type { Bin } from '../bin/bin.ts';
import { type Cleanings, createCleanings, type Edited } from './cleaning/cleanings.ts';
import type { Dataset } from './dataset.ts';
import { refuseFaults, withRows } from './files/append-rows.ts';
import { datasetName } from './files/dataset-name.ts';
import type { DatasetWriter, ReceivedFile } from './files/dataset-writer.ts';
import { checkEdits, type RowEdits, withEdits } from './files/edit-rows.ts';
import { filePieces } from './files/file-pieces.ts';
import { fileVersion } from './files/file-version.ts';
import { noteExtension, readNote } from './files/import-note.ts';
import { createInTurn } from './files/in-turn.ts';
import { createLookup } from './files/lookup.ts';
import { moveDataset } from './files/move-dataset.ts';
import { createReplacing } from './files/replace-rows.ts';
import type { StoredFiles } from './files/stored-files.ts';
import { rowFlags } from './rows/pages/row-flag.ts';
import type { Validation } from './rows/row-validator.ts';

/** The numbers of lines, from 1. */
export interface FlaggedLines {
  readonly flagged: readonly number[];
  readonly unflagged: readonly number[];
}

/** What changes stored datasets, one change of a dataset at a time. */
export interface DatasetChanges extends Pick<Cleanings, 'clean' | 'replaceRows' | 'takeBackCleaning'> {
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
  editRows(name: string, version: string, edits: RowEdits): Promise<Edited>;
  /**
   * Flags rows by their lines, and takes flags away. A row that is not edited keeps its flag in later versions.
   * @throws AppError `conflict` if the rows are of another version, `invalid` for lines that are not there.
   */
  flagRows(name: string, version: string, lines: FlaggedLines, signal: AbortSignal): Promise<Edited>;
  /** @param name that it has now. @returns its ID in the bin, if it is kept. @throws AppError `not_found`. */
  remove(name: string, permanently?: boolean): Promise<string | null>;
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
  /** Makes a file that was received a dataset, in place of an earlier one of its name. */
  put(file: ReceivedFile): Promise<Dataset>;
}

/** @param get finds a dataset by a present or former name. @throws AppError `not_found`. */
export function createDatasetChanges({
  dir,
  store,
  bin,
  writer,
  files,
  get,
}: {
  readonly dir: string;
  readonly store: DatasetStore;
  readonly bin: Bin;
  readonly writer: DatasetWriter;
  readonly files: StoredFiles;
  readonly get: (name: string) => Dataset;
}): DatasetChanges {
  const { receive, receiving } = writer;
  const { replace, storeOne } = createReplacing(dir, writer);
  const { check, current, read } = files;
  /** What changes a dataset, its name included, waits for the change before. */
  const inTurn = createInTurn();
  const { named, ofVersion, requireFree, requireVersion } = createLookup(dir, store, writer, files);
  const cleanings = createCleanings({
    dir,
    read,
    inTurn,
    named,
    ofVersion,
    replace,
    flags: store.flags,
    put: storeOne,
    version: (name) => read(name, fileVersion),
  });
  bin.restores('dataset', {
    check: ({ ref }) => requireFree(ref, 'Rename or delete that one first.'),
    // Its file ID is known again.
    restored: ({ ref }) => store.put(named(ref)),
  });
  const put = (file: ReceivedFile) => inTurn([file.name], () => storeOne(file));

  return {
    put,

    addRows(filename, rows) {
      const name = datasetName(filename);
      return inTurn([name], async () => {
        const before = store.get(name) === null ? null : await current(named(name));
        const path = before === null ? null : join(dir, name);
        const check = (after: Validation) => refuseFaults(before?.validation ?? null, after);
        return read(name, () => replace(name, withRows(path, rows), check));
      });
    },

    editRows: (name, version, edits) =>
      inTurn([name], async () => {
        const { validation } = await ofVersion(name, version);
        checkEdits(edits, validation.shape);
        const check = () => requireVersion(name, version);
        const dataset = await read(name, (path) => replace(name, withEdits(path, edits), check));
        return { dataset, version: await read(name, fileVersion) };
      }),

    flagRows: (name, version, { flagged, unflagged }, signal) =>
      inTurn([name], async () => {
        const dataset = await ofVersion(name, version);
        const flagsOf = (lines: readonly number[]) => read(name, (path) => rowFlags(path, lines, signal));
        const [added, removed] = [await flagsOf(flagged), await flagsOf(unflagged)];
        store.flag(name, added, true);
        store.flag(name, removed, false);
        return { dataset, version };
      }),

    clean: cleanings.clean,
    replaceRows: cleanings.replaceRows,
    takeBackCleaning: cleanings.takeBackCleaning,

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
      const { name: from } = get(name);
      await check(from);
      // The name is reserved below before anything else is done.
      const to = filename === null ? (writer.freeNames(from, ['-copy'])[0] as string) : datasetName(filename);
      requireFree(to);
      return receiving([to], async () => {
        const note = (await readNote(join(dir, from))) ?? undefined;
        const received = await read(from, (path) => receive(filePieces(path)));
        const made = await put({ name: to, note, ...received });
        store.flag(to, [...store.flags(from)], true);
        return made;
      });
    },

    remove: (name, permanently) =>
      inTurn([name], async () => {
        named(name);
        const files = [join(dir, name), join(dir, name + noteExtension)];
        // A folder that took its place is not Hone's to delete.
        const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === false;
        const place = await bin.place(files.filter(isFile), permanently);
        await cleanings.forget(name);
        return bin.discard(place, {
          kind: 'dataset',
          ref: name,
          name,
          rows: [
            { table: 'datasets', column: 'name', value: name },
            { table: 'dataset_flags', column: 'dataset', value: name },
            { table: 'fine_tuning_files', column: 'id', value: datasetFileId(named(name)) },
          ],
          remove: () => store.remove(name),
        });
      }),
  };
}
