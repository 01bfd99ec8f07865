import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** The repository. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const python = join(root, 'trainer', '.venv', 'bin', 'python');

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and fail where one is missing
export type Json = any;

/** An answer: its status, and its body parsed where it is JSON. */
export interface Answer {
  readonly status: number;
  readonly body: Json;
  readonly headers: Headers;
}

/** A real service in a process of its own, on a port and a data directory of its own. */
export interface TestService {
  readonly url: string;
  readonly dataDir: string;
  readonly process: ChildProcess;
  /** The structured log so far, a record a line. */
  readonly log: Json[];
  call(method: string, path: string, body?: unknown): Promise<Answer>;
  upload(filename: string, content: string | Uint8Array): Promise<Answer>;
  /** Ends it and waits. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface ServiceOptions {
  readonly dataDir?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly limits?: Record<string, number>;
  readonly args?: readonly string[];
}

const started: TestService[] = [];
const folders: string[] = [];

/** A folder that is removed when the test file ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hone-test-'));
  folders.push(folder);
  return folder;
}

/** Starts the built service (`dist/main.js`) and waits until it answers. */
export async function startService(options: ServiceOptions = {}): Promise<TestService> {
  const dataDir = options.dataDir ?? temporaryFolder();
  const child = spawn(
    process.execPath,
    [join(root, 'dist', 'main.js'), 'serve', '--port', '0', '--host', '127.0.0.1', ...(options.args ?? [])],
    {
      cwd: dataDir,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        OMP_NUM_THREADS: '1',
        SERVICE_DATA_DIR: dataDir,
        // Most tests start many services and few trainings: nothing is imported ahead for them.
        HONE_TEST_LIMITS: JSON.stringify({ warmTrainerIdleMs: 0, ...options.limits }),
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
    url,
    dataDir,
    process: child,
    log,
    async call(method, path, body) {
      return answerOf(
        await fetch(url + path, {
          method,
          // A connection of its own: one that is kept may be closed by the server just as it is used again.
          headers: {
            connection: 'close',
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          },
          ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        }),
      );
    },
    async upload(filename, content) {
      const form = new FormData();
      form.append('file', new Blob([content as BlobPart]), filename);
      return answerOf(
        await fetch(`${url}/api/upload_dataset`, {
          method: 'POST',
          body: form,
          headers: { connection: 'close' },
        }),
      );
    },
    async end(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = new Promise((resolve) => child.once('exit', resolve));
        child.kill(signal);
        await ended;
      }
      return child.exitCode;
    },
  };
  started.push(service);
  return service;
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers };
}

/** Ends every service and trainer that this file started, and removes its folders. */
export async function endAll(): Promise<void> {
  for (const service of started) {
    await service.call('POST', '/api/stop_training').catch(() => undefined);
    await service.end('SIGKILL');
    for (const pid of trainersOf(service.dataDir)) process.kill(pid, 'SIGKILL');
  }
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}

/** The pids of trainers that work in a data directory: by their arguments, or, forked from a warm one, by the
 * word that they left. */
export function trainersOf(dataDir: string): number[] {
  const jobs = join(dataDir, 'jobs');
  const forks = (existsSync(jobs) ? readdirSync(jobs) : [])
    .map((job) => join(jobs, job, 'process.json'))
    .filter(existsSync)
    .map((file) => JSON.parse(readFileSync(file, 'utf8')).pid as number);
  const listed = execFileSync('ps', ['-axo', 'pid=,stat=,args='], { encoding: 'utf8', maxBuffer: 2 ** 24 });
  return listed
    .split('\n')
    .filter((line) => line.includes('-m trainer') && !/^\s*\d+\s+Z/.test(line))
    .filter((line) => line.includes(jobs) || forks.includes(Number.parseInt(line, 10)))
    .map((line) => Number.parseInt(line, 10));
}

/** A tiny base model of random weights, made once and kept in `build/`. */
export function tinyModel(kind: string, template: 'none' | 'chatml' = 'none'): string {
  const folder = join(root, 'build', 'tiny', `${kind}-${template}`);
  if (!existsSync(folder)) {
    const aside = `${folder}.${process.pid}`;
    mkdirSync(dirname(folder), { recursive: true });
    execFileSync(python, ['-m', 'trainer.tests.tiny', kind, aside, '--template', template], {
      cwd: root,
      env: { ...process.env, OMP_NUM_THREADS: '1' },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    try {
      renameSync(aside, folder);
    } catch {
      // Another test made it meanwhile.
      rmSync(aside, { recursive: true, force: true });
    }
  }
  return folder;
}

/** Rows of the example dataset for text generation. */
export const supportRows = () => readFileSync(join(root, 'examples', 'support.jsonl'), 'utf8');

/** A training request that is done in seconds. */
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

/** Waits until `check` gives something that is true; fails with the last thing that it gave. */
export async function until<T>(check: () => Promise<T> | T, what: string, timeoutMs = 120_000): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  let last: T;
  do {
    last = await check();
    if (last) return last;
    await sleep(50);
  } while (performance.now() < deadline);
  throw new Error(`Waited in vain until ${what}; the last answer was ${JSON.stringify(last)}`);
}

/** Waits until no training runs, and gives the status answer of then. */
export async function untilEnded(service: TestService): Promise<Json> {
  return until(async () => {
    const { body } = await service.call('GET', '/api/finetune/status');
    return body.status === 'running' ? null : body;
  }, 'the training ended');
}
