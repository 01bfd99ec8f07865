import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The folder that contains `trainer/` and `build/`, found by walking up from this module, so that the
 * sources (`src/native/`) and the bundle (`dist/`) find the same one.
 */
export function repositoryRoot(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  for (let folder = here; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json')) && existsSync(join(folder, 'trainer'))) return folder;
    if (dirname(folder) === folder) return join(here, '..', '..');
  }
}
