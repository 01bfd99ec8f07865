import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { AppError } from '../../errors.ts';
import { isHubId } from '../base-models/base-model.ts';
import { hasWeights } from '../base-models/files/weight-files.ts';

/** The path that a text names, or null if it is a model of the hub or a stored file. */
function pathIn(kind: 'model' | 'file', text: string): string | null {
  if (!/[/\\]/.test(text) || (kind === 'model' && isHubId(text))) return null;
  return text.startsWith('~/') ? join(homedir(), text.slice(2)) : resolve(text);
}

/** A path without symbolic links; what does not exist of it is kept. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPath(parent), basename(path));
  }
}

function contains(folder: string, path: string): boolean {
  const between = relative(folder, path);
  return between === '' || !(isAbsolute(between) || between === '..' || between.startsWith(`..${sep}`));
}

/** The folder that an adapter alone names as its base, which is read with it; null if it names none. */
function baseIn(folder: string): string | null {
  try {
    if (hasWeights(readdirSync(folder))) return null;
    const { base_model_name_or_path: named } = JSON.parse(
      readFileSync(join(folder, 'adapter_config.json'), 'utf8'),
    );
    return typeof named === 'string' ? pathIn('model', named) : null;
  } catch {
    return null;
  }
}

/**
 * Makes the rule for clients elsewhere: they may name files and folders below these alone, after symbolic links, and
 * adapters whose base is there, too.
 * @returns a check of a text that may be the path of a model or a file. It throws AppError `forbidden`, whether or not
 *   there is such a file.
 */
export function createPathRule(folders: readonly string[]): (kind: 'model' | 'file', text: string) => void {
  return (kind, text) => {
    const path = pathIn(kind, text);
    if (path === null) return;
    const isAllowed = (named: string) => {
      const real = realPath(named);
      return folders.some((folder) => contains(realPath(folder), real));
    };
    if (!text.includes('\0') && isAllowed(path)) {
      const base = kind === 'model' ? baseIn(path) : null;
      if (base === null || isAllowed(base)) return;
    }
    const instead = kind === 'model' ? 'Use the ID of a hub model (owner/name)' : 'Upload the dataset';
    throw new AppError(
      'forbidden',
      `Only clients on the machine of the service may name this path. ${instead}, or start Hone there with --allow-path FOLDER.`,
    );
  };
}
