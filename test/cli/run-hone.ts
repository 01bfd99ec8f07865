import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../service.ts';

/** What a command came to. */
export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly errors: string;
}

/** Runs `hone ARGS…` in a folder, with pipes. */
export function runHone(
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: NodeJS.ProcessEnv; readonly input?: string },
): Promise<Ended> {
  const child = spawn(process.execPath, [join(root, 'setup.mjs'), ...args], {
    cwd: options.cwd,
    env: { ...process.env, OMP_NUM_THREADS: '1', ...options.env },
  });
  let out = '';
  let errors = '';
  child.stdout.on('data', (chunk) => (out += chunk));
  child.stderr.on('data', (chunk) => (errors += chunk));
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, errors })));
}
