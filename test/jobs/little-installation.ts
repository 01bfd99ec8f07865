import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../folders.ts';
import { installationWith } from '../installation.ts';

/** The environment of a service whose trainer is the little one, which acts out a scenario of its own. */
export function littleInstallation(scenario: string): NodeJS.ProcessEnv {
  const program = join(root, 'test', 'jobs', 'little-trainer.mjs');
  const folder = installationWith(`exec "${process.execPath}" "${program}" "$@"`);
  return { HONE_INSTALL_DIR: folder, HONE_TEST_SCENARIO: scenario, HONE_TEST_REAL_ROOT: root };
}

/** Tells the little trainer that waits in `folder` how it goes on; at once, since it may read in the middle of a write. */
export function letGo(folder: string, how = ''): void {
  writeFileSync(join(folder, 'going'), how);
  renameSync(join(folder, 'going'), join(folder, 'go'));
}
