import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../config.ts';
import { type TrackerName, trackerKeysFile, trackerNames, trackers } from '../contract/training/trackers.ts';
import { createKeptKeys } from '../domain/access/kept-keys.ts';
import { AppError } from '../errors.ts';
import { trackerEnvironment, trackerPlaces } from '../trainer/processes/tracker.ts';
import { readSecret } from './read-secret.ts';

const usage = `Use "hone track add NAME", "hone track key NAME", "hone track list" or "hone track remove NAME", with one of ${trackerNames.join(', ')}.`;

/**
 * `hone track`: installs trackers in the data directory, and keeps their keys, beside a running service or without one.
 * @throws AppError `invalid` for another command, and `conflict` if one cannot be installed.
 */
export async function runTrackCommand(config: Config): Promise<void> {
  const [action, given = '', ...rest] = config.operands;
  const name = trackerNames.find((one) => one === given);
  const keys = createKeptKeys(join(config.dataDir, trackerKeysFile), 'tracker');
  if (action === 'list' && given === '') {
    const known = keys.read();
    const rows = trackerNames.map((one) => {
      const installed = existsSync(trackerPlaces(config.dataDir, one).packages);
      return `${one}: ${installed ? 'installed' : 'not installed'}${one in known ? ', with a key' : ''}\n`;
    });
    process.stdout.write(rows.join(''));
  } else if (name === undefined || rest.length > 0) {
    throw new AppError('invalid', usage);
  } else if (action === 'add') {
    install(config, name);
    process.stderr.write(`hone: installed ${name}. Runs with "report_to": ["${name}"] are passed to it.\n`);
  } else if (action === 'key') {
    const key = await readSecret(`Key of ${trackers[name].label} (not shown): `);
    if (!/^[\x21-\x7e]+$/.test(key)) throw new AppError('invalid', 'No key: type it, or pipe it in.');
    mkdirSync(config.dataDir, { recursive: true });
    keys.write({ ...keys.read(), [name]: key });
    process.stderr.write(`hone: kept the key of ${name}.\n`);
  } else if (action === 'remove') {
    const { [name]: _key, ...others } = keys.read();
    if (_key !== undefined) keys.write(others);
    rmSync(trackerPlaces(config.dataDir, name).packages, { recursive: true, force: true });
    process.stderr.write(`hone: removed ${name} and its key. What it has of runs is still there.\n`);
  } else {
    throw new AppError('invalid', usage);
  }
}

/** Installs the packages of a tracker into a folder of their own, which is there once it is complete. */
function install(config: Config, name: TrackerName): void {
  const { packages } = trackerPlaces(config.dataDir, name);
  const partial = `${packages}.partial`;
  mkdirSync(dirname(packages), { recursive: true });
  rmSync(partial, { recursive: true, force: true });
  const options = [
    '--no-input',
    '--disable-pip-version-check',
    '--only-binary',
    ':all:',
    '--target',
    partial,
  ];
  const pip = ['-m', 'pip', 'install', ...options, ...trackers[name].packages];
  const env = { ...config.environment, PIP_ROOT_USER_ACTION: 'ignore' };
  const tried =
    spawnSync(config.pythonPath, pip, { env, stdio: ['ignore', 2, 2] }).status === 0 &&
    spawnSync(config.pythonPath, ['-S', '-c', `import ${name}`], {
      env: trackerEnvironment(config, partial),
      stdio: ['ignore', 'ignore', 2],
    }).status === 0;
  if (!tried) {
    rmSync(partial, { recursive: true, force: true });
    throw new AppError('conflict', `${name} could not be installed; the lines above say why.`);
  }
  rmSync(packages, { recursive: true, force: true });
  renameSync(partial, packages);
}
