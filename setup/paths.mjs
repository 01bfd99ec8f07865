import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of package.json. */
export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/[\\/]$/, '');

/** A path inside the repository. */
export const inRoot = (...parts) => join(root, ...parts);

/** The interpreter of the trainer's own environment. */
export const venvPython =
  process.platform === 'win32'
    ? inRoot('trainer', '.venv', 'Scripts', 'python.exe')
    : inRoot('trainer', '.venv', 'bin', 'python');
