import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fetchLocal, type LocalService, readLocalService } from './local-service.ts';

/** A running service. */
export interface RunningService {
  readonly local: LocalService;
  /** Of its API. */
  readonly version: string;
  /** The log of the service that was started; `null` if it was running before. */
  readonly logPath: string | null;
  /** Ends the service if it was started here. */
  leave(): Promise<void>;
}

const startDeadlineMs = 60_000;
const pollMs = 50;

/** The running service of a data directory; `null` if none responds. */
export async function findService(dataDir: string): Promise<RunningService | null> {
  const local = readLocalService(dataDir);
  if (local === null) return null;
  try {
    const response = await fetchLocal(local, '/api/health');
    if (!response.ok) return null;
    const { version } = (await response.json()) as { version: string };
    return { local, version, logPath: null, leave: async () => undefined };
  } catch {
    return null;
  }
}

function lastLines(file: string): string {
  return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-20).join('\n');
}

/** Uses the running service of the data directory, or starts one on the loopback address. */
export async function startService(options: {
  readonly dataDir: string;
  readonly installDir: string;
  readonly port: number;
  readonly logPath: string;
  readonly env: NodeJS.ProcessEnv;
}): Promise<RunningService> {
  const { dataDir, logPath } = options;
  const there = await findService(dataDir);
  if (there !== null) return there;
  mkdirSync(dirname(logPath), { recursive: true });
  const log = openSync(logPath, 'w');
  const program = join(options.installDir, 'dist', 'main.js');
  const args = [program, 'serve', '--host', '127.0.0.1', '--port', String(options.port)];
  const child = spawn(process.execPath, args, { env: options.env, stdio: ['ignore', log, log] });
  closeSync(log);
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const leave = () => stop(child, ended);
  const deadline = performance.now() + startDeadlineMs;
  while (performance.now() < deadline && child.exitCode === null) {
    const now = await findService(dataDir);
    if (now !== null && now.local.pid === child.pid) return { ...now, logPath, leave };
    await sleep(pollMs);
  }
  await leave();
  throw new Error(`the service did not start\n${lastLines(logPath)}`);
}

async function stop(child: ChildProcess, ended: Promise<void>): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
  await ended;
}
