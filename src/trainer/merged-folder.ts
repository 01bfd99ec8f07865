import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { platformCacheDir } from '../config.ts';

/** What of a folder tells it from others, and how much of each file (`key_of` in trainer/adapter_base/make.py). */
const endings = ['.jinja', '.json', '.model', '.safetensors', '.tiktoken', '.txt'];
const keyBytes = 2 ** 20;

/** The folder of an adapter, and its base: a hub ID, or a folder, which `base_path` is then, too. */
export interface AdapterBase {
  readonly path: string;
  readonly base: string;
  readonly base_path: string | null;
}

/** Whether a run may have to download its model, or the base of its adapter. */
export function isFromHub(model: { readonly path: string | null; readonly adapter?: AdapterBase }): boolean {
  const { path, adapter } = model;
  if (adapter === undefined || path === null) return path === null;
  return adapter.base_path === null && !existsSync(join(path, 'config.json'));
}

/**
 * The folder that a run makes of an adapter and its base, and trains from.
 * @throws errors of the file system if a folder is gone.
 */
export async function mergedFolder({ path, base, base_path: basePath }: AdapterBase): Promise<string> {
  const hash = createHash('sha256').update('1\n');
  hash.update(await factsOf(path));
  if (basePath === null) hash.update(`hub ${base}\n`);
  else if (basePath !== path) hash.update(await factsOf(basePath));
  const name = hash.digest('hex').slice(0, 32);
  return join(platformCacheDir(process.env, process.platform), 'merged-bases', name);
}

/** The names, sizes, times and beginnings of a folder's files, in one digest. */
async function factsOf(folder: string): Promise<Buffer> {
  const hash = createHash('sha256');
  for (const name of (await readdir(folder)).sort()) {
    if (!endings.some((ending) => name.endsWith(ending))) continue;
    const file = join(folder, name);
    const { size, mtimeNs, isFile } = await factsOfFile(file);
    if (!isFile) continue;
    hash.update(`${name} ${size} ${mtimeNs}\n`);
    hash.update(await beginningOf(file));
  }
  return hash.digest();
}

/** A link that leads nowhere is no file. */
async function factsOfFile(path: string) {
  const facts = await stat(path, { bigint: true }).catch(() => null);
  return { size: facts?.size, mtimeNs: facts?.mtimeNs, isFile: facts?.isFile() ?? false };
}

async function beginningOf(path: string): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(keyBytes), 0, keyBytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
