import { existsSync, rmSync } from 'node:fs';
import type { Config } from '../../config.ts';
import { AppError } from '../../errors.ts';
import { maskingFolder, maskingModel, maskingPackages } from '../../trainer/masking/mask.ts';
import { installPackages } from './install-packages.ts';

const usage = 'Use "hone mask add", "hone mask list" or "hone mask remove".';

/**
 * `hone mask`: installs what finds personal data in texts in the data directory, beside a running service or without one.
 * @throws AppError `invalid` for another command, and `conflict` if it cannot be installed.
 */
export async function runMaskCommand(config: Config): Promise<void> {
  const [action, ...rest] = config.operands;
  const folder = maskingFolder(config.dataDir);
  if (rest.length > 0) throw new AppError('invalid', usage);
  if (action === 'add') {
    const wanted = { name: 'presidio_analyzer', packages: maskingPackages, extra: maskingModel };
    const findsNames = installPackages(config, folder, wanted);
    const names = findsNames
      ? 'Names of people and places are found in English texts.'
      : 'Names of people and places are not found: spaCy’s English model could not be downloaded. Repeat the command to try again.';
    process.stderr.write(`hone: installed Presidio. ${names}\n`);
  } else if (action === 'list') {
    process.stdout.write(`Presidio: ${existsSync(folder) ? 'installed' : 'not installed'}\n`);
  } else if (action === 'remove') {
    rmSync(folder, { recursive: true, force: true });
    process.stderr.write('hone: removed Presidio.\n');
  } else throw new AppError('invalid', usage);
}
