import { stat } from 'node:fs/promises';
import { AppError } from '../../../errors.ts';
import { fileDigest } from '../../job-record/data-digest.ts';
import type { Edited } from '../cleaning/cleanings.ts';
import type { Dataset } from '../dataset.ts';
import type { Datasets } from '../datasets.ts';
import { readDataset } from '../files/dataset-file.ts';
import { fileVersion } from '../files/file-version.ts';
import { type RowPage, type RowsWanted, readRowPage } from '../rows/pages/row-page.ts';
import { createRowChanges, type RowChanges } from './row-changes.ts';

/** A run or an evaluation that keeps the rows that it used. */
export interface VersionUse {
  readonly kind: 'run' | 'evaluation';
  readonly id: string;
  readonly name: string;
}

/** A file of rows that is there as long as what uses it. */
export interface KeptRows {
  readonly path: string;
  /** How many rows there are, if that is known. */
  readonly rows: number | null;
  readonly use: VersionUse;
}

/** Rows that a dataset has, or had when they were used. */
export interface DatasetVersion {
  readonly sha256: string;
  /** Whether the dataset has these rows now. */
  readonly isNow: boolean;
  /** When they were stored, ISO 8601. */
  readonly createdAt: string;
  readonly rows: number | null;
  readonly sizeBytes: number;
  readonly usedBy: readonly VersionUse[];
}

/** What a dataset has now, and the earlier versions that runs and evaluations keep. Each method throws AppError `not_found`. */
export interface DatasetVersions {
  /** The newest first, with what each changed of the one before it, if that is known. */
  list(name: string): Promise<readonly (DatasetVersion & { readonly changes: RowChanges | null })[]>;
  rows(name: string, sha256: string, wanted: RowsWanted): Promise<{ version: DatasetVersion; page: RowPage }>;
  file(name: string, sha256: string): Promise<{ name: string; path: string; bytes: number }>;
  /** As `Datasets.replaceRows`, with the rows of an earlier version. */
  restore(name: string, sha256: string, version: string): Promise<Edited>;
}

type Found = DatasetVersion & { readonly path: string };

/** The most versions of a dataset. */
const mostVersions = 50;

/** @param keptRows what is kept of datasets with these names, the newest first. */
export function createDatasetVersions(
  datasets: Pick<Datasets, 'get' | 'find' | 'file' | 'replaceRows'>,
  keptRows: (names: readonly string[]) => readonly KeptRows[],
): DatasetVersions {
  const changesOf = createRowChanges();

  async function find(dataset: Dataset): Promise<Found[]> {
    const { name, formerNames } = dataset;
    const names = [name, ...formerNames.filter((former) => datasets.find(former)?.name === name)];
    /** By what tells one file from another, which is faster than by content. */
    const files = new Map<string, { path: string; rows: number | null; uses: VersionUse[] }>();
    const now = (await datasets.file(name)).path;
    const version = await readDataset(now, name, () => fileVersion(now));
    files.set(version, { path: now, rows: dataset.numExamples, uses: [] });
    for (const { path, rows, use } of keptRows(names)) {
      const file = await fileVersion(path).catch(() => null);
      const found = file === null ? undefined : files.get(file);
      if (found !== undefined) found.uses.push(use);
      else if (file !== null && files.size < mostVersions) files.set(file, { path, rows, uses: [use] });
    }
    const versions = new Map<string, Found>();
    for (const { path, rows, uses } of files.values()) {
      const facts = await Promise.all([fileDigest(path), stat(path)]).catch(() => null);
      if (facts === null) continue;
      const [sha256, { size, mtime }] = facts;
      const same = versions.get(sha256);
      versions.set(sha256, {
        sha256,
        path,
        isNow: path === now,
        sizeBytes: size,
        rows,
        createdAt: mtime.toISOString(),
        ...same,
        usedBy: [...(same?.usedBy ?? []), ...uses],
      });
    }
    return [...versions.values()].sort(
      (a, b) => Number(b.isNow) - Number(a.isNow) || (a.createdAt < b.createdAt ? 1 : -1),
    );
  }

  async function one(name: string, sha256: string) {
    const dataset = datasets.get(name);
    const version = (await find(dataset)).find((found) => found.sha256 === sha256);
    if (version === undefined) throw gone(dataset.name);
    return { dataset, version };
  }

  return {
    async list(name) {
      const found = await find(datasets.get(name));
      const listed = [];
      for (const [place, version] of found.entries()) {
        const before = found[place + 1];
        listed.push({ ...version, changes: before === undefined ? null : await changesOf(before, version) });
      }
      return listed;
    },

    async rows(name, sha256, wanted) {
      const { dataset, version } = await one(name, sha256);
      return { version, page: await reading(dataset.name, () => readRowPage(version.path, wanted)) };
    },

    async file(name, sha256) {
      const { dataset, version } = await one(name, sha256);
      const fileName = dataset.name.replace(/(\.jsonl)?$/, `-${sha256.slice(0, 8)}.jsonl`);
      return { name: fileName, path: version.path, bytes: version.sizeBytes };
    },

    async restore(name, sha256, version) {
      const { dataset, version: wanted } = await one(name, sha256);
      return reading(dataset.name, () => datasets.replaceRows(name, version, wanted.path));
    },
  };
}

/** Reads a file, which is deleted with what uses it. */
async function reading<T>(name: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? gone(name) : error;
  }
}

const gone = (name: string) =>
  new AppError(
    'not_found',
    `This version of ${name.slice(0, 200)} is not kept. A version is kept as long as a run or an evaluation that used it.`,
  );
