import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The root of the repository. */
export const root = resolve(import.meta.dirname, '..', '..');
/** Programs other than the TypeScript of the harness. */
export const programs = join(root, 'bench', 'programs');
/** The trainer's Python interpreter. */
export const python = join(
  root,
  'trainer',
  '.venv',
  ...(process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python']),
);

/** The installed version of a Python package, or `null`. */
export async function pythonVersion(distribution: string): Promise<string | null> {
  if (!existsSync(python)) return null;
  const script = 'import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))';
  return run(python, ['-c', script, distribution]).then(
    ({ stdout }) => stdout.trim(),
    () => null,
  );
}

/** For `missing` of a side: how to install the missing Python packages. */
export async function missingPython(...distributions: readonly string[]): Promise<string | null> {
  const versions = await Promise.all(distributions.map(pythonVersion));
  const absent = distributions.filter((_, index) => versions[index] === null);
  return absent.length === 0
    ? null
    : `${absent.join(' and ')} not installed: ${python} -m pip install -r trainer/requirements-test.txt`;
}
