import { type ChildProcess, spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { cpuSecondsOf, memoryOf } from './account.ts';
import { root } from './places.ts';

/** A server in a fresh process. */
export interface MeasuredServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** From process start until it printed its address. */
  readonly startedAfterSeconds: number;
  /** Its CPU time so far. */
  cpuSeconds(): number;
  memory(): ReturnType<typeof memoryOf>;
  /** Ends it and waits for its exit. */
  end(signal?: NodeJS.Signals): Promise<void>;
}

export interface ServerOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Keeps standard input open, to send lines to the process while it runs. */
  readonly withInput?: boolean;
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * Starts a server and waits until a line of its stdout or stderr contains its address as `http://HOST:PORT`.
 * @throws when it exits before that, with its output.
 */
export async function startServer(
  options: ServerOptions,
): Promise<MeasuredServer & { readonly process: ChildProcess }> {
  const begun = performance.now();
  const child = spawn(options.command, options.args, {
    cwd: options.cwd ?? root,
    env: { ...process.env, ...options.env },
    stdio: [options.withInput ? 'pipe' : 'ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let said = '';
  const url = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream as NodeJS.ReadableStream }).on('line', (line) => {
        said = `${said}${line}\n`.slice(-4000);
        const found = /http:\/\/[\w.[\]:-]+:\d+/.exec(line);
        if (found !== null) resolve(found[0]);
      });
    }
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`${options.command} ended with ${code}:\n${said}`)));
  });
  child.once('exit', () => running.delete(child));
  const pid = child.pid as number;
  return {
    url,
    port: Number(new URL(url).port),
    pid,
    process: child,
    startedAfterSeconds: (performance.now() - begun) / 1000,
    cpuSeconds: () => cpuSecondsOf(pid),
    memory: () => memoryOf(pid),
    end: (signal = 'SIGTERM') =>
      new Promise((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve();
        child.once('exit', () => resolve());
        child.kill(signal);
      }),
  };
}

/** With BENCH_PROFILE set to a folder, the service writes a CPU profile there when it exits. */
const profiling = process.env.BENCH_PROFILE
  ? ['--cpu-prof', `--cpu-prof-dir=${resolve(process.env.BENCH_PROFILE)}`]
  : [];

/** Starts the built service on a free port. */
export const startHone = (
  dataDir: string,
  options: { env?: NodeJS.ProcessEnv; execArgv?: string[]; args?: readonly string[] } = {},
) =>
  startServer({
    command: process.execPath,
    args: [
      ...profiling,
      ...(options.execArgv ?? []),
      join(root, 'dist', 'main.js'),
      'serve',
      '--port',
      '0',
      '--host',
      '127.0.0.1',
      ...(options.args ?? []),
    ],
    cwd: dataDir,
    env: { OMP_NUM_THREADS: '1', SERVICE_DATA_DIR: dataDir, ...options.env },
  });
