import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { inRoot, root } from './paths.mjs';

const stampPath = (name) => inRoot('build', 'stamps', name);

/** Files under a path, itself if it is a file, in a fixed order; none if there is nothing. */
function filesUnder(path) {
  if (!existsSync(path)) return [];
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

/**
 * A digest of a step's inputs.
 * @param paths files and folders, relative to the repository.
 * @param facts further inputs (versions, platform).
 */
export function digest(paths, facts = []) {
  const hash = createHash('sha256').update(facts.join('\0'));
  for (const file of paths.flatMap((path) => filesUnder(inRoot(path)))) {
    hash.update(`\0${relative(root, file)}\0`).update(readFileSync(file));
  }
  return hash.digest('hex');
}

/** The digest of the last completed run of a step, or null. */
export function readStamp(name) {
  try {
    return readFileSync(stampPath(name), 'utf8');
  } catch {
    return null;
  }
}

/** Written last: a step without a stamp runs again. */
export function writeStamp(name, text) {
  mkdirSync(inRoot('build', 'stamps'), { recursive: true });
  const aside = `${stampPath(name)}.${process.pid}`;
  writeFileSync(aside, text);
  renameSync(aside, stampPath(name));
}

export function removeStamp(name) {
  rmSync(stampPath(name), { force: true });
}
