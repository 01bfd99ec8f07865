import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config.ts';
import { trackerKeysFile, trackerNames, trackers } from '../../contract/training/trackers.ts';
import { createKeptKeys } from '../../domain/access/kept-keys.ts';
import { AppError } from '../../errors.ts';
import { trackerPlaces } from '../../trainer/processes/tracker.ts';
import { readSecret } from '../read-secret.ts';
import { installPackages } from './install-packages.ts';

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
    const { packages } = trackerPlaces(config.dataDir, name);
    installPackages(config, packages, { name, packages: trackers[name].packages });
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
