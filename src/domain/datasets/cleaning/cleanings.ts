import { join } from 'node:path';
import { minimumRows } from '../../../contract/rows.ts';
import { AppError } from '../../../errors.ts';
import { refusalOf } from '../../../faults.ts';
import type { Dataset } from '../dataset.ts';
import type { ReceivedFile } from '../files/dataset-writer.ts';
import { filePieces } from '../files/file-pieces.ts';
import { readNote } from '../files/import-note.ts';
import type { Validation } from '../rows/row-validator.ts';
import { type CleanedRows, cleanRows, type Fix } from './clean-rows.ts';
import { createFormerRows } from './former-rows.ts';

/** A dataset and the version that an edit has made. */
export interface Edited {
  readonly dataset: Dataset;
  readonly version: string;
}

/** Puts right what an analysis has found. */
export interface Cleanings {
  /**
   * Puts one finding of an analysis right in all rows, or removes rows by their flags, and stores them as a new version.
   * @param version that was analysed.
   * @throws AppError `conflict` if it is no longer the version; `invalid` if too few rows would be left; `unavailable` as
   * an upload.
   */
  clean(name: string, version: string, fix: Fix, signal: AbortSignal): Promise<Edited & CleanedRows>;
  /**
   * Gives a dataset the rows of another file, which can be taken back as a cleaning.
   * @param version that they replace.
   * @throws AppError `conflict` if it is no longer the version; `unavailable` as an upload; ENOENT if the file is gone.
   */
  replaceRows(name: string, version: string, path: string): Promise<Edited>;
  /** Puts back the rows before the last cleaning. @throws AppError `conflict` if they were changed since, or are not kept. */
  takeBackCleaning(name: string): Promise<Edited>;
  /** Deletes the rows before the last cleaning of a dataset that is deleted. */
  forget(name: string): Promise<void>;
}

/** What of the changes of datasets a cleaning uses. */
interface Changing {
  readonly dir: string;
  readonly read: <T>(name: string, work: (path: string) => Promise<T>) => Promise<T>;
  readonly inTurn: <T>(names: readonly string[], work: () => Promise<T>) => Promise<T>;
  /** @throws AppError `not_found`. */
  readonly named: (name: string) => Dataset;
  /** @throws AppError `conflict` if the rows are of another version. */
  readonly ofVersion: (name: string, version: string) => Promise<Dataset>;
  readonly replace: (
    name: string,
    pieces: AsyncIterable<Buffer>,
    check: (after: Validation) => Promise<void>,
  ) => Promise<Dataset>;
  readonly flags: (name: string) => ReadonlySet<string>;
  readonly put: (file: ReceivedFile) => Promise<Dataset>;
  readonly version: (name: string) => Promise<string>;
}

export function createCleanings({
  dir,
  read,
  inTurn,
  named,
  ofVersion,
  replace,
  flags,
  put,
  version: versionOf,
}: Changing): Cleanings {
  const formers = createFormerRows(dir);
  return {
    clean: (name, version, fix, signal) =>
      inTurn([name], async () => {
        const before = await ofVersion(name, version);
        const { shape, valid } = before.validation;
        if (!valid || shape === null) throw refusalOf('fix', `${name} is not valid. Correct its rows first.`);
        const done = { removed: 0, changed: 0 };
        const check = async ({ numExamples }: Validation) => {
          if (numExamples < minimumRows) throw tooFew(numExamples);
          await ofVersion(name, version);
        };
        return formers.keeping(before, async () => {
          const rows = { shape, rows: before.numExamples, flags: flags(name) };
          const dataset = await read(name, (path) =>
            replace(name, cleanRows(path, fix, rows, done, signal), check),
          );
          return { dataset, version: await versionOf(name), ...done };
        });
      }),

    replaceRows: (name, version, path) =>
      inTurn([name], async () => {
        const before = await ofVersion(name, version);
        const check = async () => void (await ofVersion(name, version));
        return formers.keeping(before, async () => {
          return { dataset: await replace(name, filePieces(path), check), version: await versionOf(name) };
        });
      }),

    takeBackCleaning: (name) =>
      inTurn([name], async () => {
        named(name);
        const former = formers.take(await versionOf(name));
        if (former === undefined) throw notKept(name);
        const note = (await readNote(join(dir, name))) ?? undefined;
        return { dataset: await put({ name, note, ...former }), version: await versionOf(name) };
      }),

    forget: (name) => versionOf(name).then(formers.forget, () => {}),
  };
}

const tooFew = (rows: number) =>
  refusalOf(
    'fix',
    `Too few rows would be left (${rows}): training needs at least ${minimumRows}. Add rows first.`,
  );

const notKept = (name: string) =>
  new AppError(
    'conflict',
    `The last cleaning of ${name} cannot be taken back: its rows were changed since, or Hone was restarted.`,
  );
