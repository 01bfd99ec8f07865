import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Options } from './options.ts';

/** A running service. */
export interface RunningService {
  readonly url: string;
  /** Ends the service if the demo started it. */
  leave(): Promise<void>;
}

const startDeadlineMs = 60_000;
const pollMs = 50;

/** The service of the data directory, from its own record there. */
function announced(dataDir: string): { pid: number; url: string | null } | null {
  try {
    return JSON.parse(readFileSync(join(dataDir, 'instance.json'), 'utf8'));
  } catch {
    return null;
  }
}

async function answers(url: string | null | undefined): Promise<boolean> {
  if (url == null) return false;
  try {
    return (await fetch(`${url}/api/health`)).ok;
  } catch {
    return false;
  }
}

function lastLines(file: string): string {
  return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-20).join('\n');
}

/** Uses the running service of the data directory, or starts one on the loopback address. */
export async function startService(options: Options): Promise<RunningService> {
  const there = announced(options.dataDir);
  if (there?.url != null && (await answers(there.url))) {
    console.log(`Using the service at ${there.url}`);
    return { url: there.url, leave: async () => undefined };
  }
  mkdirSync(options.cacheDir, { recursive: true });
  const logPath = join(options.cacheDir, 'demo-service.log');
  const log = openSync(logPath, 'w');
  const program = join(options.installDir, 'dist', 'main.js');
  const args = [program, 'serve', '--host', '127.0.0.1', '--port', String(options.port)];
  // The starter model is too small for a second thread to help, and two threads of torch are slow next to a busy process.
  const threads = options.model === null ? { OMP_NUM_THREADS: '1' } : {};
  const child = spawn(process.execPath, args, {
    env: { ...threads, ...process.env },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const leave = () => stop(child, ended);
  const deadline = performance.now() + startDeadlineMs;
  while (performance.now() < deadline && child.exitCode === null) {
    const now = announced(options.dataDir);
    if (now?.pid === child.pid && (await answers(now?.url))) {
      console.log(`Started the service at ${now?.url}; its log is ${logPath}`);
      return { url: now?.url as string, leave };
    }
    await sleep(pollMs);
  }
  await leave();
  throw new Error(`the service did not start\n${lastLines(logPath)}`);
}

async function stop(child: ChildProcess, ended: Promise<void>): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
  await ended;
}
