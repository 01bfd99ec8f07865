import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { listCached } from '../../hub/cached-model.ts';
import { locateModel } from './base-model.ts';

/** A base model that is on this machine. */
export interface LocalModel {
  /** As a request names it: a hub ID, or a folder. */
  readonly model: string;
  /** Where it is from: the demo, the hub's cache, or a folder that was trained before. */
  readonly kind: 'starter' | 'hub' | 'folder';
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
  return async () => {
    const starter = await options.starter();
    const folders = new Set(
      options.trained().filter((name) => {
        const path = folderOf(name);
        return path !== null && name !== starter && existsSync(join(path, 'config.json'));
      }),
    );
    return [
      ...(starter === null ? [] : [{ model: starter, kind: 'starter' as const }]),
      ...[...folders].map((model) => ({ model, kind: 'folder' as const })),
      ...(await listCached()).map((model) => ({ model, kind: 'hub' as const })),
    ];
  };
}

/** The folder that a request names; `null` for a hub ID, or a name that is no longer accepted. */
function folderOf(name: string): string | null {
  try {
    return locateModel(name).path;
  } catch {
    return null;
  }
}
