import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Answer, type Client, clientOf, type Json, supportRows, until } from './client.ts';
import { root, temporaryFolder } from './folders.ts';
import { makeModels, tinyModel } from './models.ts';
import { warmParentEnvironment } from './warm-parent.ts';

export { type Answer, type Json, root, supportRows, temporaryFolder, tinyModel, until };

/** A real service in its own process, with its own port and data directory. */
export interface TestService extends Client {
  readonly dataDir: string;
  readonly process: ChildProcess;
  /** The structured log so far, one record per line. */
  readonly log: Json[];
  /** Ends the service and waits for its exit. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface ServiceOptions {
  readonly dataDir?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly limits?: Record<string, number>;
  readonly args?: readonly string[];
  /**
   * Enables the warm trainer. Not for trainings that download a model from a hub of `env`: in `npm test` the hub's
   * library is imported before and has read its variables.
   */
  readonly warm?: boolean;
}

const started: TestService[] = [];

/** Starts the built service (`dist/main.js`) and waits until it responds. */
export async function startService(options: ServiceOptions = {}): Promise<TestService> {
  // Made before the start, because this blocks the event loop and the service would close idle connections.
  makeModels();
  const dataDir = options.dataDir ?? temporaryFolder();
  const bases = join(dataDir, 'bases');
  const { HONE_TEST_DRY_RUNS: dryRuns } = process.env;
  if (dryRuns !== undefined) copyDryRuns(dryRuns, bases);
  const child = spawn(
    process.execPath,
    [
      ...[join(root, 'dist', 'main.js'), 'serve', '--port', '0', '--host', '127.0.0.1'],
      ...(options.warm ? ['--log-level', 'debug'] : []),
      ...(options.args ?? []),
    ],
    {
      cwd: dataDir,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        OMP_NUM_THREADS: '1',
        // No test asks OpenAI.
        OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
        SERVICE_DATA_DIR: dataDir,
        HONE_TEST_LIMITS: JSON.stringify({
          warmTrainerIdleMs: options.warm ? 600_000 : 0,
          moveBackoffMs: 1,
          ...options.limits,
        }),
        ...(options.warm ? warmParentEnvironment() : {}),
        ...options.env,
      },
    },
  );
  const log: Json[] = [];
  let errors = '';
  child.stderr?.on('data', (chunk) => {
    errors += chunk;
  });
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const record = JSON.parse(line);
      log.push(record);
      if (record.url) resolve(record.url);
    });
    child.once('exit', (code) => reject(new Error(`The service ended with ${code}: ${errors}`)));
  });
  const service: TestService = {
    ...clientOf(url),
    dataDir,
    process: child,
    log,
    async end(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = new Promise((resolve) => child.once('exit', resolve));
        child.kill(signal);
        await ended;
        if (dryRuns !== undefined) copyDryRuns(bases, dryRuns);
      }
      return child.exitCode;
    },
  };
  started.push(service);
  if (options.warm) await untilWarm(service);
  return service;
}

/**
 * Copies what dry runs of exports have found out. The services of a test run share it (`npm test` sets
 * HONE_TEST_DRY_RUNS), because a dry run takes seconds of CPU time, and most of them train the same few models.
 */
function copyDryRuns(from: string, to: string): void {
  const names = existsSync(from) ? readdirSync(from).filter((name) => name.endsWith('.dry-run.json')) : [];
  if (names.length > 0) mkdirSync(to, { recursive: true });
  for (const name of names) {
    if (existsSync(join(to, name))) continue;
    const aside = join(to, `${name}.${process.pid}`);
    copyFileSync(join(from, name), aside);
    renameSync(aside, join(to, name));
  }
}

/** How long to wait for the warm trainer. Without it, for lack of memory or time, trainings are only slower. */
const warmMs = 180_000;

/** Waits until the warm trainer is ready, where it is possible: on Linux without a GPU. */
async function untilWarm(service: TestService): Promise<void> {
  const { gpus } = (await service.call('GET', '/api/hardware')).body;
  if (process.platform !== 'linux' || gpus.length > 0) return;
  // Requesting the recommended settings starts the warm-up imports.
  await service.call('GET', '/api/finetune/load_settings');
  const isWarm = () => service.log.some((line) => line.msg === 'A trainer is warm');
  await until(isWarm, 'a trainer is warm', warmMs).catch(() => undefined);
}

/** Ends every service and trainer that this file started. */
export async function endAll(): Promise<void> {
  for (const service of started) {
    const { exitCode, signalCode } = service.process;
    // The port of one that has ended may be another service's by now.
    if (exitCode === null && signalCode === null)
      await service.call('POST', '/api/stop_training').catch(() => undefined);
    await service.end('SIGKILL');
    for (const pid of trainersOf(service.dataDir)) process.kill(pid, 'SIGKILL');
  }
}

/** The pids of trainers that work in a data directory: by their arguments, or, forked from a warm one, by the
 * word that they left. The child in which one tries its export is no trainer. */
export function trainersOf(dataDir: string): number[] {
  const jobs = join(dataDir, 'jobs');
  const forks = (existsSync(jobs) ? readdirSync(jobs) : [])
    .map((job) => join(jobs, job, 'process.json'))
    .filter(existsSync)
    .map((file) => JSON.parse(readFileSync(file, 'utf8')) as { pid: number; started: string })
    // The pid of one that has ended may be another process's by now.
    .filter(({ pid, started }) => startOf(pid) === started)
    .map(({ pid }) => pid);
  const listed = execFileSync('ps', ['-axo', 'pid=,stat=,args='], { encoding: 'utf8', maxBuffer: 2 ** 24 });
  return listed
    .split('\n')
    .filter((line) => /-m trainer (?!dry-run)/.test(line) && !/^\s*\d+\s+Z/.test(line))
    .filter((line) => line.includes(jobs) || forks.includes(Number.parseInt(line, 10)))
    .map((line) => Number.parseInt(line, 10));
}

/** When a process started, in ticks since the boot (proc(5), field 22 of stat); null if there is none. */
function startOf(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ')[19] as string;
  } catch {
    return null;
  }
}

/** A training request that completes in seconds. */
export const quickRequest = (changes: Record<string, unknown> = {}) => ({
  task: 'text-generation',
  model_name: tinyModel('llama'),
  dataset: 'support.jsonl',
  max_steps: 6,
  per_device_train_batch_size: 2,
  gradient_accumulation_steps: 1,
  max_seq_length: 96,
  ...changes,
});

/** On a busy machine, a training with an export takes minutes. */
const endMs = 300_000;

/** The longest training of a real model: a processor without bfloat16 products is a fifth as fast as one with them. */
export const realModelMs = 3_600_000;

/** Waits until no training runs. @returns the last status response. */
export async function untilEnded(service: TestService, timeoutMs = endMs): Promise<Json> {
  return until(
    async () => {
      const { body } = await service.call('GET', '/api/finetune/status');
      return body.status === 'running' ? null : body;
    },
    'the training ended',
    timeoutMs,
  );
}
