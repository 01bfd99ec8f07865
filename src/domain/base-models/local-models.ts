import { existsSync, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ggufParts } from '../../contract/models/gguf-parts.ts';
import { listCached } from '../../hub/cached-model.ts';
import { locateModel } from './base-model.ts';
import { readBase, whyNoBase } from './gguf/gguf-base.ts';
import { type CachedGguf, findCachedGgufs } from './gguf/gguf-caches.ts';
import { ggufTypeName } from './gguf/gguf-types.ts';

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
}

/** Lists the base models on this machine. */
export type LocalModels = () => Promise<LocalModel[]>;

/**
 * @param starter the folder of the demo's model, or `null`.
 * @param trained the base models of earlier runs, newest first.
 */
export function createLocalModels(options: {
  readonly starter: () => Promise<string | null>;
  readonly trained: () => readonly string[];
}): LocalModels {
  const headers = new Map<string, Header>();

  /** A file that can be a base; `null` for others. Its header is read again only if the file has changed. */
  async function describe({ path, name, program }: CachedGguf): Promise<LocalModel | null> {
    const facts: Stats[] = [];
    for (const part of ggufParts(path)) {
      const found = await stat(part).catch(() => null);
      if (found === null) return null;
      facts.push(found);
    }
    const key = facts.map(({ size, mtimeMs }) => `${size} ${mtimeMs}`).join();
    const bytes = facts.reduce((sum, { size }) => sum + size, 0);
    let known = headers.get(path);
    if (known?.key !== key) {
      known = await readFacts(path, key);
      headers.set(path, known);
    }
    if (known.facts === null) return null;
    return { model: path, kind: 'gguf', gguf: { name, program, bytes, ...known.facts } };
  }

  return async () => {
    const starter = await options.starter();
    const folders = new Set(
      options.trained().filter((name) => {
        const path = folderOf(name);
        return path !== null && name !== starter && existsSync(join(path, 'config.json'));
      }),
    );
    const ggufs: LocalModel[] = [];
    // One after another: a header takes ten times its size in memory while it is read.
    for (const cached of await findCachedGgufs()) {
      const found = await describe(cached);
      if (found !== null) ggufs.push(found);
    }
    return [
      ...(starter === null ? [] : [{ model: starter, kind: 'starter' as const, gguf: null }]),
      ...[...folders].map((model) => ({ model, kind: 'folder' as const, gguf: null })),
      ...(await listCached()).map((model) => ({ model, kind: 'hub' as const, gguf: null })),
      ...ggufs,
    ];
  };
}

/** What was read of a file; `facts` is `null` if it cannot be a base. */
interface Header {
  readonly key: string;
  readonly facts: Pick<LocalGguf, 'architecture' | 'quantization'> | null;
}

async function readFacts(path: string, key: string): Promise<Header> {
  const file = await readBase(path).catch(() => null);
  if (file === null || whyNoBase(file) !== null) return { key, facts: null };
  return { key, facts: { architecture: file.architecture, quantization: ggufTypeName(file.fileType) } };
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
