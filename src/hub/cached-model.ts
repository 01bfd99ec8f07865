import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hubLibrary } from './library.ts';

/** The user's shared hub cache. */
export const sharedCache = async (): Promise<string> => (await hubLibrary()).getHFHubCachePath();

/** A model in the shared cache that is complete, with the folder of its newest revision. */
export interface CachedModel {
  readonly repository: string;
  readonly folder: string;
}

/** The models in the shared cache that are complete, by name. */
export async function listCached(): Promise<CachedModel[]> {
  const names = await readdir(await sharedCache()).catch(() => []);
  const found = await Promise.all(
    names
      .filter((name) => /^models--[^-].*--/.test(name))
      .map(async (name) => {
        // `models--owner--name`; neither part has two hyphens in a row.
        const repository = name.slice('models--'.length).replace('--', '/');
        const folder = await findCached(repository);
        return folder === null ? [] : [{ repository, folder }];
      }),
  );
  return found.flat().sort((a, b) => a.repository.localeCompare(b.repository));
}

/** The folder of a model in the shared cache, with all its revisions, whether or not it is there. */
export async function cacheFolder(repository: string): Promise<string> {
  const { getRepoFolderName } = await hubLibrary();
  return join(await sharedCache(), getRepoFolderName({ name: repository, type: 'model' }));
}

/**
 * Finds the newest complete revision of a model in the shared cache.
 * @returns its folder, or `null`.
 */
export async function findCached(repository: string): Promise<string | null> {
  const folder = await cacheFolder(repository);
  try {
    const revision = (await readFile(join(folder, 'refs', 'main'), 'utf8')).trim();
    if (!/^[0-9a-f]{40}$/.test(revision)) return null;
    const snapshot = join(folder, 'snapshots', revision);
    const files = await readdir(snapshot);
    const whole = files.includes('config.json') && files.some((name) => name.endsWith('.safetensors'));
    return whole ? snapshot : null;
  } catch {
    return null;
  }
}
