import { existsSync, type Stats } from 'node:fs';
import { lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ggufParts } from '../../contract/models/gguf-parts.ts';
import { cacheFolder, listCached } from '../../hub/cached-model.ts';
import { locateModel } from './base-model.ts';
import { readBase, whyNoBase } from './gguf/gguf-base.ts';
import { type CachedGguf, findCachedGgufs } from './gguf/gguf-caches.ts';
import { ggufTypeName } from './gguf/gguf-types.ts';
import { isDecoder } from './model-pair.ts';
import { ggufSize, type ModelSize, type SizeOf } from './model-size.ts';

/** What is told of a GGUF file. */
export interface LocalGguf extends Omit<CachedGguf, 'path'> {
  readonly bytes: number;
  readonly architecture: string;
  /** Its type, such as `Q4_K_M`; `null` if the file does not say. */
  readonly quantization: string | null;
}

/** A base model that is on this machine. */
export interface LocalModel {
  /** As a request names it: a hub ID, a folder, or a GGUF file. */
  readonly model: string;
  /** Where it is from: the demo, the hub's cache, a folder that was trained before, or a GGUF file of another program. */
  readonly kind: 'starter' | 'hub' | 'folder' | 'gguf';
  /** `null` for models that are no GGUF files. */
  readonly gguf: LocalGguf | null;
  /** What it takes on the disk. */
  readonly bytes: number;
  readonly size: ModelSize;
  /** When a run of it was last started, of the newest runs; `null` if none was. */
  readonly lastUsed: string | null;
  /** The name by which it is asked before anything is trained (`base:…`); `null` if it writes no text. */
  readonly answersAs: string | null;
}

/** What the name of a base model begins with where a model is asked. */
const basePrefix = 'base:';
/** Whether a name can be that of a base model that is asked. */
export const isBaseName = (name: string): boolean => name.startsWith(basePrefix);

/** Lists the base models on this machine. */
export type LocalModels = () => Promise<LocalModel[]>;

/**
 * @param starter the folder of the demo's model, or `null`.
 * @param trained the earlier runs, newest first.
 */
export function createLocalModels(options: {
  readonly starter: () => Promise<string | null>;
  readonly trained: () => readonly { readonly modelName: string; readonly createdAt: string }[];
  readonly sizeOf: SizeOf;
}): LocalModels {
  const headers = new Map<string, Header>();

  /** A file that can be a base; `null` for others. Its header is read again only if the file has changed. */
  async function describe({ path, name, program }: CachedGguf): Promise<Found | null> {
    const parts: Stats[] = [];
    for (const part of ggufParts(path)) {
      const found = await stat(part).catch(() => null);
      if (found === null) return null;
      parts.push(found);
    }
    const key = parts.map(({ size, mtimeMs }) => `${size} ${mtimeMs}`).join();
    const bytes = parts.reduce((sum, { size }) => sum + size, 0);
    let known = headers.get(path);
    if (known?.key !== key) {
      known = await readFacts(path, key);
      headers.set(path, known);
    }
    if (known.facts === null) return null;
    const { size, ...facts } = known.facts;
    return { model: path, kind: 'gguf', gguf: { name, program, bytes, ...facts }, bytes, size };
  }

  /** A model that is a folder; `space` is that which has all its files. */
  async function describeFolder(
    model: string,
    kind: LocalModel['kind'],
    folder: string,
    space = folder,
  ): Promise<Found[]> {
    // It may be deleted meanwhile.
    const size = await options.sizeOf(folder).catch(() => null);
    return size === null ? [] : [{ model, kind, gguf: null, bytes: await bytesIn(space), size }];
  }

  return async () => {
    const starter = await options.starter();
    const lastUsed = new Map<string, string>();
    for (const { modelName, createdAt } of options.trained())
      if (!lastUsed.has(modelName)) lastUsed.set(modelName, createdAt);
    const folders = [...lastUsed.keys()].filter((name) => {
      const path = folderOf(name);
      return path !== null && name !== starter && existsSync(join(path, 'config.json'));
    });
    const ggufs: Found[] = [];
    // One after another: a header takes ten times its size in memory while it is read.
    for (const cached of await findCachedGgufs()) {
      const found = await describe(cached);
      if (found !== null) ggufs.push(found);
    }
    const others = await Promise.all([
      ...(starter === null ? [] : [describeFolder(starter, 'starter', starter)]),
      ...folders.map((name) => describeFolder(name, 'folder', folderOf(name) as string)),
      ...(await listCached()).map(async ({ repository, folder }) =>
        describeFolder(repository, 'hub', folder, await cacheFolder(repository)),
      ),
    ]);
    const all = [...others.flat(), ...ggufs];
    return all.map((found) => ({
      ...found,
      lastUsed: lastUsed.get(found.model) ?? null,
      answersAs: nameOf(found, all),
    }));
  };
}

/** A model, without when it was used and what it is asked as. */
type Found = Omit<LocalModel, 'lastUsed' | 'answersAs'>;

/** A GGUF is asked by the name that its program has for it, unless several have that one. */
function nameOf({ model, gguf, size: { kind } }: Found, all: readonly Found[]): string | null {
  if (gguf === null) return kind.isEncoderDecoder || isDecoder(kind) ? basePrefix + model : null;
  const isAlone = all.filter((other) => other.gguf?.name === gguf.name).length === 1;
  return basePrefix + (isAlone ? gguf.name : model);
}

/** The bytes of the files in a folder, those that links in it lead to left out: a cache links to files in itself. */
async function bytesIn(folder: string): Promise<number> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const sizes = await Promise.all(
    files
      .filter((file) => file.isFile())
      .map(
        async ({ parentPath, name }) => (await lstat(join(parentPath, name)).catch(() => null))?.size ?? 0,
      ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** What was read of a file; `facts` is `null` if it cannot be a base. */
interface Header {
  readonly key: string;
  readonly facts: (Pick<LocalGguf, 'architecture' | 'quantization'> & { readonly size: ModelSize }) | null;
}

async function readFacts(path: string, key: string): Promise<Header> {
  const file = await readBase(path).catch(() => null);
  if (file === null || whyNoBase(file) !== null) return { key, facts: null };
  return {
    key,
    facts: {
      architecture: file.architecture,
      quantization: ggufTypeName(file.fileType),
      // Nothing is downloaded for it, whether or not it was made into weights before.
      size: ggufSize(file, true),
    },
  };
}

/** The folder that a request names; `null` for a hub ID, a GGUF file, or a name that is no longer accepted. */
function folderOf(name: string): string | null {
  try {
    const { path, gguf } = locateModel(name);
    return gguf === undefined ? path : null;
  } catch {
    return null;
  }
}
