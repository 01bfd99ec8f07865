import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getHFHubCachePath, getRepoFolderName } from '@huggingface/hub';

/** Whether the shared cache has the newest known revision of a model with its configuration and weights. */
export async function findCached(repository: string): Promise<boolean> {
  const folder = join(getHFHubCachePath(), getRepoFolderName({ name: repository, type: 'model' }));
  try {
    const revision = (await readFile(join(folder, 'refs', 'main'), 'utf8')).trim();
    if (!/^[0-9a-f]{40}$/.test(revision)) return false;
    const files = await readdir(join(folder, 'snapshots', revision));
    return files.includes('config.json') && files.some((name) => name.endsWith('.safetensors'));
  } catch {
    return false;
  }
}
