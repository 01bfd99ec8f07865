import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { programs, root } from './places.ts';

/**
 * The path of a C program from `bench/programs`, compiled if it is missing or older than its source.
 * @throws the compiler's output, or an error when there is no compiler.
 */
export function compiled(name: string): string {
  const source = join(programs, `${name}.c`);
  const folder = join(root, 'build', 'bench');
  const path = join(folder, name);
  if (existsSync(path) && statSync(path).mtimeMs > statSync(source).mtimeMs) return path;
  mkdirSync(folder, { recursive: true });
  const aside = `${path}.${process.pid}`;
  execFileSync(
    process.env.CC ?? 'cc',
    ['-O2', '-Wall', '-Wextra', '-Werror', '-pthread', source, '-o', aside],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  renameSync(aside, path);
  return path;
}
