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
  const flags = ['-fvisibility=hidden', ...(variant === 'old' ? ['-DOLD'] : [])];
  compile('nvml.c', join(folder, 'libnvidia-ml.so.1'), flags);
  if (variant !== 'no-cuda') compile('cuda.c', join(folder, 'libcuda.so.1'), flags);
  return folder;
}

/** Compiles the watcher of the event loop (`loop-watch.c`) into the folder and gives its file. */
export function loopWatch(folder: string): string {
  const file = join(folder, 'loop-watch.node');
  compile('loop-watch.c', file, ['-I', join(root, 'node_modules', 'node-api-headers', 'include')]);
  return file;
}

/** Compiles a library that is preloaded into a process (`full-disk.c`, …) and gives its file. */
export function shim(name: 'full-disk' | 'hang' | 'no-threads' | 'thread-watch', folder: string): string {
  const file = join(folder, `${name}.so`);
  compile(`${name}.c`, file, ['-ldl']);
  return file;
}

/** Compiles the program that starts threads as llama.cpp does (`ggml-threads.c`), under this name, and gives its file. */
export function threadStarter(folder: string, name: string): string {
  const file = join(folder, name);
  compile('ggml-threads.c', file, ['-pthread', '-ldl'], []);
  return file;
}

/** LD_PRELOAD with these libraries behind what is preloaded here already, such as a sanitizer. */
export function preloading(...libraries: readonly string[]): string {
  return [process.env.LD_PRELOAD, ...libraries].filter(Boolean).join(':');
}

function compile(
  source: string,
  file: string,
  flags: readonly string[],
  kind: readonly string[] = ['-shared', '-fPIC'],
): void {
  const strict = ['-O1', '-Wall', '-Wextra', '-Werror'];
  execFileSync(
    process.env.CC ?? 'cc',
    [...kind, ...strict, join(here, source), '-o', file, ...flags],
    // A sanitizer that is preloaded here is not meant for the compiler.
    { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, LD_PRELOAD: undefined } },
  );
}
