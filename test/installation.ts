import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, temporaryFolder } from './folders.ts';

/**
 * Makes a folder with everything that the service needs, in which a shell script replaces the trainer's Python.
 * @returns the folder, for `HONE_INSTALL_DIR`.
 */
export function installationWith(python: string): string {
  const folder = temporaryFolder();
  for (const name of ['dist', 'src', 'build', 'node_modules', 'examples'])
    symlinkSync(join(root, name), join(folder, name));
  mkdirSync(join(folder, 'trainer', '.venv', 'bin'), { recursive: true });
  for (const name of readdirSync(join(root, 'trainer')).filter((name) => name !== '.venv'))
    symlinkSync(join(root, 'trainer', name), join(folder, 'trainer', name));
  const path = join(folder, 'trainer', '.venv', 'bin', 'python');
  writeFileSync(path, `#!/bin/sh\n${python}\n`);
  chmodSync(path, 0o755);
  return folder;
}
