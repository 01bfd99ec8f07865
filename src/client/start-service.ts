import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fetchLocal, type LocalService, readLocalService } from '../client/local-service.ts';
import type { Options } from './options.ts';

/** A running service. */
export interface RunningService {
  readonly local: LocalService;
  /** Ends the service if the demo started it. */
  leave(): Promise<void>;
}

const startDeadlineMs = 60_000;
const pollMs = 50;

async function answers(service: LocalService | null): Promise<boolean> {
  if (service === null) return false;
  try {
    return (await fetchLocal(service, '/api/health')).ok;
  } catch {
    return false;
  }
}

function lastLines(file: string): string {
  return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-20).join('\n');
}

/** Uses the running service of the data directory, or starts one on the loopback address. */
export async function startService(options: Options): Promise<RunningService> {
  const there = readLocalService(options.dataDir);
  if (there !== null && (await answers(there))) {
    console.log(`Using the service at ${there.url}`);
    return { local: there, leave: async () => undefined };
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
    const now = readLocalService(options.dataDir);
    if (now !== null && now.pid === child.pid && (await answers(now))) {
      console.log(`Started the service at ${now.url}; its log is ${logPath}`);
      return { local: now, leave };
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
