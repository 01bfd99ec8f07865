import { readdir, realpath } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { readSmallJson } from './small-json.ts';

/** A snapshot of the hub cache, or a folder in it, such as one of a quantization; the first group is the repository's. */
const snapshot = /^(.*[/\\]models--[^/\\]+)[/\\]snapshots[/\\][^/\\]+/;

/** Where the files of a model may lie: in its folder, and for a snapshot of the hub cache among the cache's blobs. */
async function rootsOf(folder: string): Promise<string[]> {
  const real = await realpath(folder);
  const repository = snapshot.exec(real)?.[1];
  if (repository === undefined) return [real];
  return [real, join(repository, 'blobs'), join(dirname(repository), 'blobs')];
}

/** Names of files that training reads. */
const read = /\.(json|safetensors|model|jinja|txt|tiktoken)$/;

/** The files of a model's folder that are links to files elsewhere, which are never read (as trainer/model/view.py). */
export async function linksOutOf(folder: string): Promise<string[]> {
  const roots = await rootsOf(folder);
  const leaving: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isSymbolicLink() || !read.test(entry.name)) continue;
    const target = await realpath(join(folder, entry.name)).catch(() => null);
    if (target !== null && !roots.some((root) => target.startsWith(root + sep))) leaving.push(entry.name);
  }
  return leaving;
}

/**
 * The real path of a file of a model's folder.
 * @throws Error if there is none, or if it is a link to a file elsewhere.
 */
export async function modelFile(folder: string, name: string): Promise<string> {
  const path = await realpath(join(folder, name));
  if ((await rootsOf(folder)).some((root) => path.startsWith(root + sep))) return path;
  throw new Error(`${name} is a link that leads out of the folder of the model`);
}

/** The JSON in a file of a model's folder. @throws Error as `modelFile` and `readSmallJson`. */
export async function readModelJson(folder: string, name: string): Promise<unknown> {
  return readSmallJson(await modelFile(folder, name));
}
