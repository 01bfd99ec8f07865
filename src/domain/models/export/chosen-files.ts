import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Exported } from '../../../trainer/reexport.ts';

/**
 * Files of a model at a strength or of a checkpoint, which replace its former ones together: they are made in
 * `chosenFolder` of the export's folder, sealed with the result when all are there, and then moved. What is sealed and was
 * cut off is moved at the next start.
 */
export const chosenFolder = (folder: string): string => join(folder, 'chosen');
const sealOf = (folder: string) => join(folder, 'result.json');
/** What training left (`trainer/export/retention/chosen.py`). */
const trainedName = 'trained';

/** Says that all is there. */
export async function sealFiles(folder: string, result: Exported): Promise<void> {
  await writeFile(`${sealOf(folder)}.partial`, JSON.stringify(result), { flush: true });
  await rename(`${sealOf(folder)}.partial`, sealOf(folder));
}

/** The result that was sealed, or `null`. */
export async function sealed(folder: string): Promise<Exported | null> {
  const text = await readFile(sealOf(folder), 'utf8').catch(() => null);
  return text === null ? null : (JSON.parse(text) as Exported);
}

/** Moves the files to the model's folder; those that a call before has moved are not there any more. */
export async function placeFiles(folder: string, modelDir: string, isTrained: boolean): Promise<void> {
  for (const entry of await readdir(chosenFolder(folder), { withFileTypes: true })) {
    const target = join(modelDir, entry.name);
    if (entry.isDirectory()) await rm(target, { recursive: true, force: true });
    await rename(join(chosenFolder(folder), entry.name), target);
  }
  if (isTrained) await rm(join(modelDir, trainedName), { recursive: true, force: true });
}

/** Says that all is in place. */
export const unseal = (folder: string): Promise<void> => rm(sealOf(folder));
