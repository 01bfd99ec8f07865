import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, sep } from 'node:path';
import { sharedCache } from '../../../hub/cached-model.ts';

/** The programs whose caches have GGUF files. */
export const ggufPrograms = ['LM Studio', 'Ollama', 'llama.cpp', 'hub cache'] as const;

/** A GGUF file in the cache of a program, of a split one the first part. */
export interface CachedGguf {
  readonly path: string;
  /** What the program calls it. */
  readonly name: string;
  readonly program: (typeof ggufPrograms)[number];
}

/** Folders that a search enters below a cache, and files that it lists: more than any cache has. */
const maximumDepth = 4;
const maximumFiles = 500;
/** Ollama's manifests have a few kilobytes. */
const maximumManifestBytes = 2 ** 20;
const modelLayer = 'application/vnd.ollama.image.model';
/** Files beside a model that are none: vision encoders and importance matrices; and further parts of a split one. */
const noModel = /mmproj|imatrix|-(?!00001)\d{5}-of-\d{5}\.gguf$/i;

/** Finds the GGUF files in the caches of LM Studio, Ollama, llama.cpp and of the hub. Links out of a cache are left out. */
export async function findCachedGgufs(env: NodeJS.ProcessEnv = process.env): Promise<CachedGguf[]> {
  const home = homedir();
  const flat = async (folder: string, program: CachedGguf['program'], root = folder) =>
    (await ggufsBelow(folder, root)).map((path) => ({ path, name: nameOf(folder, path), program }));
  const hub = await sharedCache();
  const found = await Promise.all([
    flat(join(home, '.lmstudio', 'models'), 'LM Studio'),
    flat(join(home, '.cache', 'lm-studio', 'models'), 'LM Studio'),
    ollama(env.OLLAMA_MODELS || join(home, '.ollama', 'models')),
    ollama('/usr/share/ollama/.ollama/models'),
    flat(env.LLAMA_CACHE || join(home, '.cache', 'llama.cpp'), 'llama.cpp'),
    flat(hub, 'hub cache'),
  ]);
  const seen = new Set<string>();
  return found.flat().filter(({ path }) => !seen.has(path) && seen.add(path));
}

/** The whole models among the files below a folder, which are not outside of `root`. */
async function ggufsBelow(folder: string, root: string, depth = 0): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const found: string[] = [];
  for (const entry of entries.sort((a, b) => a.name.localeCompare(b.name))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (depth < maximumDepth) found.push(...(await ggufsBelow(path, root, depth + 1)));
    } else if (/\.gguf$/i.test(entry.name) && !noModel.test(entry.name) && (await isInside(path, root))) {
      found.push(path);
    }
    if (found.length >= maximumFiles) break;
  }
  return found.slice(0, maximumFiles);
}

/** The models of Ollama's library: a manifest names the file, which is called by its SHA-256. */
async function ollama(root: string): Promise<CachedGguf[]> {
  const library = join(root, 'manifests', 'registry.ollama.ai', 'library');
  const found: CachedGguf[] = [];
  for (const model of await names(library)) {
    for (const tag of await names(join(library, model))) {
      const digest = await modelDigest(join(library, model, tag));
      if (digest === null) continue;
      const path = join(root, 'blobs', `sha256-${digest}`);
      if (await isInside(path, root)) found.push({ path, name: `${model}:${tag}`, program: 'Ollama' });
    }
  }
  return found;
}

const names = async (folder: string): Promise<string[]> => (await readdir(folder).catch(() => [])).sort();

/** The SHA-256 of the model that a manifest names, or `null`. */
async function modelDigest(path: string): Promise<string | null> {
  try {
    const facts = await stat(path);
    if (!facts.isFile() || facts.size > maximumManifestBytes) return null;
    const { layers } = JSON.parse(await readFile(path, 'utf8')) as { layers?: unknown };
    if (!Array.isArray(layers)) return null;
    const layer = layers.find((one) => one?.mediaType === modelLayer);
    return /^sha256:([0-9a-f]{64})$/.exec(String(layer?.digest))?.[1] ?? null;
  } catch {
    return null;
  }
}

async function isInside(path: string, root: string): Promise<boolean> {
  try {
    return (await realpath(path)).startsWith((await realpath(root)) + sep);
  } catch {
    return false;
  }
}

/** `owner/repository/file`, as the hub's cache and LM Studio lay files out. */
function nameOf(root: string, path: string): string {
  const parts = path.slice(root.length + 1).split(sep);
  const repository = /^models--(.+?)--(.+)$/.exec(parts[0] ?? '');
  return repository === null ? parts.join('/') : `${repository[1]}/${repository[2]}/${parts.at(-1)}`;
}
