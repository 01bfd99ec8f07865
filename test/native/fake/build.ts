import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '..', '..', '..');

/** A folder for LD_LIBRARY_PATH with fake NVIDIA libraries: of today, of an old driver, or broken ones. */
export function fakeDriver(variant: 'modern' | 'old' | 'unloadable' | 'no-cuda'): string {
  const folder = join(root, 'build', 'fake-driver', `${variant}-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  if (variant === 'unloadable') {
    writeFileSync(join(folder, 'libnvidia-ml.so.1'), 'this is no library\n');
    return folder;
  }
  const compile = (source: string, library: string) =>
    execFileSync(
      process.env.CC ?? 'cc',
      [
        '-shared',
        '-fPIC',
        '-O1',
        '-Wall',
        '-Wextra',
        '-Werror',
        '-fvisibility=hidden',
        ...(variant === 'old' ? ['-DOLD'] : []),
        join(here, source),
        '-o',
        join(folder, library),
      ],
      // A sanitizer that is preloaded here is not meant for the compiler.
      { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, LD_PRELOAD: undefined } },
    );
  compile('nvml.c', 'libnvidia-ml.so.1');
  if (variant !== 'no-cuda') compile('cuda.c', 'libcuda.so.1');
  return folder;
}
