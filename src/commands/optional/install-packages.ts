import { spawnSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../../config.ts';
import { AppError } from '../../errors.ts';
import { trackerEnvironment } from '../../trainer/processes/tracker.ts';

/** Python packages that are installed on demand. */
interface OptionalPackages {
  /** What is imported to see whether they work. */
  readonly name: string;
  /** What pip is asked for. */
  readonly packages: readonly string[];
  /** What is good to have, but may be unreachable. */
  readonly extra?: string;
}

/**
 * Installs packages into a folder of their own, which is there once it is complete.
 * @returns whether the extra is there, too.
 * @throws AppError `conflict` if they cannot be installed.
 */
export function installPackages(config: Config, folder: string, wanted: OptionalPackages): boolean {
  const { name, packages, extra } = wanted;
  const partial = `${folder}.partial`;
  mkdirSync(dirname(folder), { recursive: true });
  rmSync(partial, { recursive: true, force: true });
  const options = [
    '--no-input',
    '--disable-pip-version-check',
    '--only-binary',
    ':all:',
    '--target',
    partial,
  ];
  const env = { ...config.environment, PIP_ROOT_USER_ACTION: 'ignore' };
  const pip = (...args: readonly string[]) =>
    spawnSync(config.pythonPath, ['-m', 'pip', 'install', ...options, ...args], {
      env,
      stdio: ['ignore', 2, 2],
    }).status === 0;
  const tried =
    pip(...packages) &&
    spawnSync(config.pythonPath, ['-S', '-c', `import ${name}`], {
      env: trackerEnvironment(config, partial),
      stdio: ['ignore', 'ignore', 2],
    }).status === 0;
  if (!tried) {
    rmSync(partial, { recursive: true, force: true });
    throw new AppError('conflict', `${name} could not be installed; the lines above say why.`);
  }
  const hasExtra = extra !== undefined && pip('--no-deps', '--retries', '1', extra);
  rmSync(folder, { recursive: true, force: true });
  renameSync(partial, folder);
  return hasExtra;
}
