import { readFile, writeFile } from 'node:fs/promises';
import * as v from 'valibot';
import { importMapping } from '../../../trainer/import-rows.ts';

/** What an import did, as it is kept beside the dataset. */
export const importNote = v.object({
  source: v.object({ kind: v.string(), name: v.string(), size_bytes: v.number() }),
  container: v.nullable(v.string()),
  compression: v.nullable(v.string()),
  shape: v.nullable(v.string()),
  mapping: v.nullable(importMapping),
  rows_read: v.number(),
  rows_written: v.number(),
  rows_skipped: v.number(),
  /** ISO 8601, UTC. */
  imported_at: v.string(),
  /** The version of Hone. */
  version: v.string(),
});
export type ImportNote = v.InferOutput<typeof importNote>;

/** Folders of imports among the datasets; what is left of them is deleted at the start. */
export const importPrefix = '.import-';
/** Folders of downloads from the hub, which go on when the same files are imported again. */
export const downloadPrefix = '.download-';
export const noteExtension = '.import.json';

/** Writes the note of the dataset at `path`. */
export const writeNote = (path: string, note: ImportNote): Promise<void> =>
  writeFile(path + noteExtension, `${JSON.stringify(note, null, 2)}\n`);

/** The note of the dataset at `path`; `null` if it was not imported, or its note is damaged. */
export async function readNote(path: string): Promise<ImportNote | null> {
  try {
    return v.parse(importNote, JSON.parse(await readFile(path + noteExtension, 'utf8')));
  } catch {
    return null;
  }
}
