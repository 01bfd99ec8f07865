import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of package.json. */
export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/[\\/]$/, '');

/** A path inside the repository. */
export const inRoot = (...parts) => join(root, ...parts);

const windows = process.platform === 'win32';

/** The interpreter of the trainer's own environment. */
export const venvPython = windows
  ? inRoot('trainer', '.venv', 'Scripts', 'python.exe')
  : inRoot('trainer', '.venv', 'bin', 'python');

/** A program of that environment (ruff, clang-format). */
export const venvTool = (name) =>
  windows ? inRoot('trainer', '.venv', 'Scripts', `${name}.exe`) : inRoot('trainer', '.venv', 'bin', name);
