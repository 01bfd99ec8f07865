import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import type { Identity } from '../job-record/identity.ts';

/** In a job's folder: what people call it, for when the database is lost (docs/job-folder.md). */
const fileName = 'identity.json';

const identity = v.object({ display_name: v.string(), notes: v.string(), tags: v.array(v.string()) });

/** Writes it; without disk space or the folder, it does nothing. */
export function writeIdentity(folder: string, { displayName, notes, tags }: Identity): void {
  const path = join(folder, fileName);
  const content: v.InferOutput<typeof identity> = { display_name: displayName, notes, tags: [...tags] };
  try {
    writeFileSync(`${path}.partial`, `${JSON.stringify(content, null, 2)}\n`);
    renameSync(`${path}.partial`, path);
  } catch {
    // The database has it. A run must not fail to be renamed because its folder is gone.
  }
}

/** `null` for a job of an earlier version that was not renamed, or if the file is damaged. */
export function readIdentity(folder: string): Identity | null {
  try {
    const found = v.parse(identity, JSON.parse(readFileSync(join(folder, fileName), 'utf8')));
    return { displayName: found.display_name, notes: found.notes, tags: found.tags };
  } catch {
    return null;
  }
}
