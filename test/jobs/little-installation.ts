import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, temporaryFolder } from '../service.ts';

/** The environment of a service whose trainer is the little one, which acts out a scenario of its own. */
export function littleInstallation(scenario: string): NodeJS.ProcessEnv {
  const folder = temporaryFolder();
  for (const name of ['dist', 'src', 'build', 'node_modules', 'examples'])
    symlinkSync(join(root, name), join(folder, name));
  mkdirSync(join(folder, 'trainer', '.venv', 'bin'), { recursive: true });
  const python = join(folder, 'trainer', '.venv', 'bin', 'python');
  writeFileSync(
    python,
    `#!/bin/sh\nexec "${process.execPath}" "${join(root, 'test', 'jobs', 'little-trainer.mjs')}" "$@"\n`,
  );
  chmodSync(python, 0o755);
  return { HONE_INSTALL_DIR: folder, HONE_TEST_SCENARIO: scenario, HONE_TEST_REAL_ROOT: root };
}
