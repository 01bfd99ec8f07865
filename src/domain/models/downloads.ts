import { readdir, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { AppError } from '../../errors.ts';
import { isPartial, modelFileName } from './model-file.ts';
import type { Model } from './models.ts';

/** A file of a model that can be downloaded; `name` is its path within the model's folder. */
export interface ModelFile {
  readonly name: string;
  readonly bytes: number;
}

/** Every file of a model, sorted by name, except Hone's own description of it and what is being written. */
export async function listFiles(model: Model): Promise<ModelFile[]> {
  const entries = await readdir(model.path, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = await Promise.all(
    entries
      .filter((entry) => entry.isFile() && entry.name !== modelFileName)
      .map(async (entry) => {
        const path = join(entry.parentPath, entry.name);
        // A temporary file may have been renamed since.
        const found = await stat(path).catch(() => null);
        const name = relative(model.path, path).split(sep).join('/');
        return found === null || isPartial(name) ? [] : [{ name, bytes: found.size }];
      }),
  );
  return files.flat().sort((a, b) => a.name.localeCompare(b.name));
}

/**
 * Finds one of the files listed by `listFiles`. No other file can be reached, whatever the name.
 * @throws AppError `not_found`.
 */
export async function findFile(model: Model, name: string) {
  const file = (await listFiles(model)).find((candidate) => candidate.name === name);
  if (file === undefined)
    throw new AppError('not_found', `The model ${model.name} has no file "${name.slice(0, 200)}".`);
  return { ...file, path: join(model.path, name) };
}
