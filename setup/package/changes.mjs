import { execFile } from 'node:child_process';
import { npmProgram } from '../npm-program.mjs';

/** The part of a changelog that is newer than a version. */
export function newerChanges(changelog, version) {
  const from = changelog.indexOf('\n## ');
  const to = changelog.indexOf(`\n## [${version}]`);
  return changelog.slice(from, to < 0 ? undefined : to).trim();
}

/** The newest version in the registry; `null` where it cannot be asked. */
export const newestVersion = () =>
  new Promise((resolve) => {
    const argv = [npmProgram(), 'view', 'hone-tune', 'version', '--fetch-retries=0', '--fetch-timeout=10000'];
    execFile(process.execPath, argv, (error, said) => resolve(error === null ? said.trim() : null));
  });
