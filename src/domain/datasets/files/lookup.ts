import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DatasetStore } from '../../../db/tables/datasets.ts';
import { AppError } from '../../../errors.ts';
import type { Dataset } from '../dataset.ts';
import type { DatasetWriter } from './dataset-writer.ts';
import { fileVersion } from './file-version.ts';
import type { StoredFiles } from './stored-files.ts';

/** What a change of a dataset finds, or refuses, before it changes anything. */
export function createLookup(
  dir: string,
  store: Pick<DatasetStore, 'get' | 'getByFormerName'>,
  writer: Pick<DatasetWriter, 'isFree'>,
  { current, read }: StoredFiles,
) {
  /** A dataset whose rows are still of a version. @throws AppError `conflict`. */
  async function ofVersion(name: string, version: string): Promise<Dataset> {
    const dataset = await current(named(name));
    await requireVersion(name, version);
    return dataset;
  }

  async function requireVersion(name: string, version: string): Promise<void> {
    if ((await read(name, fileVersion)) !== version) throw changedSince(name);
  }

  /** The dataset that has this name now: what changes it goes by no other. */
  function named(name: string): Dataset {
    const dataset = store.get(name);
    if (dataset !== null) return dataset as Dataset;
    const renamed = store.getByFormerName(name);
    const hint = renamed === null ? '' : ` It was renamed to ${renamed.name}.`;
    throw new AppError('not_found', `There is no dataset "${name.slice(0, 200)}".${hint}`);
  }

  /** @throws AppError `conflict` if there is a file of this name, or will be. */
  function requireFree(name: string, advice = 'Choose another name.'): void {
    if (writer.isFree(name) && !existsSync(join(dir, name))) return;
    throw new AppError('conflict', `There is a dataset ${name} already. ${advice}`);
  }

  return { named, ofVersion, requireFree, requireVersion };
}

const changedSince = (name: string) =>
  new AppError(
    'conflict',
    `${name} was changed since you opened it. Load its rows again, and make your edits to them.`,
  );
