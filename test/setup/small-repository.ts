import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** What a run of the set-up did. */
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface SmallRepository {
  readonly folder: string;
  /** Writes a file, given by its path in the repository. */
  write(path: string, text: string): void;
  /** Runs `node NODE_ARGS… setup.mjs ARGS…` to its end. */
  run(args: readonly string[], env?: NodeJS.ProcessEnv, nodeArgs?: readonly string[]): Promise<Ran>;
  /** Starts it and gives the process. */
  start(
    args: readonly string[],
    env?: NodeJS.ProcessEnv,
    nodeArgs?: readonly string[],
  ): ReturnType<typeof spawn>;
  remove(): void;
}

/**
 * A clone of Hone with the real set-up, the real lock file and the real packages, but with a service of one
 * line and no Python requirements, so that a test of the set-up takes no minutes.
 */
export function makeSmallRepository(): SmallRepository {
  const folder = mkdtempSync(join(tmpdir(), 'hone-set-up-'));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  for (const name of ['setup.mjs', 'setup', 'package.json', 'package-lock.json', 'tsconfig.json']) {
    cpSync(join(root, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction');
  write('src/main.ts', "console.log('ran', ...process.argv.slice(2));\nprocess.exitCode = 7;\n");
  write('trainer/requirements.txt', '');
  const start = (args: readonly string[], env: NodeJS.ProcessEnv = {}, nodeArgs: readonly string[] = []) =>
    spawn(process.execPath, [...nodeArgs, join(folder, 'setup.mjs'), ...args], {
      cwd: folder,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  return {
    folder,
    write,
    start,
    run(args, env, nodeArgs) {
      const child = start(args, env, nodeArgs);
      let stdout = '';
      let stderr = '';
      child.stdout?.on('data', (chunk) => {
        stdout += chunk;
      });
      child.stderr?.on('data', (chunk) => {
        stderr += chunk;
      });
      return new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr })));
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
