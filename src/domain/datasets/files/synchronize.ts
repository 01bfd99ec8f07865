import type { Stats } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatasetStore } from '../../../db/tables/datasets.ts';
import type { Dataset } from '../dataset.ts';
import { parseOr } from '../rows/parse-or.ts';
import { validateFile } from '../rows/validate-file.ts';
import { type DatasetWriter, journalEnding, uploadPrefix } from './dataset-writer.ts';
import { downloadPrefix, importPrefix, noteExtension } from './import-note.ts';

/** An interrupted download is kept for a day. */
const keptDownloadsMs = 24 * 3_600_000;

/** Synchronizes table and folder after a crash: deletes leftovers and adds unknown files. Not during an upload. */
export async function synchronize(
  dir: string,
  store: DatasetStore,
  writer: Pick<DatasetWriter, 'record'>,
): Promise<void> {
  await mkdir(dir, { recursive: true });
  const names = new Set<string>();
  const entries = await readdir(dir, { withFileTypes: true });
  const isJournal = (name: string) => name.startsWith(uploadPrefix) && name.endsWith(journalEnding);
  const unfinished = entries.filter(({ name }) => isJournal(name));
  const left = new Set((await Promise.all(unfinished.map(({ name }) => namesIn(join(dir, name))))).flat());
  const isThere = new Set(entries.map(({ name }) => name));
  const isOrphan = (name: string) =>
    name.endsWith(`.jsonl${noteExtension}`) && !isThere.has(name.slice(0, -noteExtension.length));
  for (const entry of entries) {
    const { name } = entry;
    if (
      name.startsWith(importPrefix) ||
      (name.startsWith(downloadPrefix) && (await isAbandoned(join(dir, name))))
    )
      await rm(join(dir, name), { recursive: true, force: true });
    else if (name.startsWith(downloadPrefix)) continue;
    else if (name.startsWith(uploadPrefix) || left.has(name) || isOrphan(name))
      await rm(join(dir, name), { force: true });
    else if (entry.isFile() && name.endsWith('.jsonl')) names.add(name);
  }
  const files = new Map<string, Stats>();
  for (const name of names) files.set(name, await stat(join(dir, name)));
  for (const dataset of store.list()) {
    if (names.has(dataset.name)) continue;
    const renamed = [...files].find(([name, file]) => store.get(name) === null && isSame(dataset, file));
    if (renamed === undefined) store.remove(dataset.name);
    // A crash came between its file and the table.
    else store.rename(dataset.name, renamed[0]);
  }
  for (const [name, file] of files) {
    const known = store.get(name);
    if (known !== null && isSame(known, file) && !isOutdated(known as Dataset)) continue;
    await writer.record(name, await validateFile(join(dir, name), null));
  }
}

/** Whether a file is the one that was stored; a new name changes neither. */
const isSame = (
  { sizeBytes, uploadedAt }: Pick<Dataset, 'sizeBytes' | 'uploadedAt'>,
  { size, mtime }: Stats,
): boolean => sizeBytes === size && uploadedAt === mtime.toISOString();

/** Whether nothing was written into a folder for a day. */
async function isAbandoned(folder: string): Promise<boolean> {
  const paths = [folder, ...(await readdir(folder)).map((name) => join(folder, name))];
  const times = await Promise.all(paths.map(async (path) => (await stat(path)).mtimeMs));
  return Math.max(...times) < Date.now() - keptDownloadsMs;
}

/** The names that a crash left behind; none if not even they were written. */
async function namesIn(path: string): Promise<string[]> {
  const names: unknown = parseOr(await readFile(path, 'utf8'), null);
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
}

/** Whether a dataset of conversations was refused by version 2.0, which did not know them. */
const isOutdated = ({ validation }: Dataset): boolean =>
  validation.errors?.[0]?.message.includes('OpenAI messages format') ?? false;
