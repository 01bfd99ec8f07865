import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { AppError } from '../../errors.ts';
import type { Engine, EngineName } from './engine.ts';
import { createNodeEngine, nodeEngine } from './node.ts';
import type { Tls } from './tls.ts';
import { createUwsEngine } from './uws.ts';

const run = promisify(execFile);
const trialMs = 10_000;

export interface EngineChoice {
  readonly engine: Engine;
  /** Why it is not uWebSockets.js, for display; `null` if it is. */
  readonly reason: string | null;
}

/** A native file of uWebSockets.js. */
export interface NativeFile {
  readonly path: string;
  readonly version: string;
}

/** The result of trying a native file: `null`, or what went wrong. */
interface Verdict {
  readonly of: string;
  readonly failure: string | null;
}

/**
 * Chooses the HTTP engine: uWebSockets.js if a native file passes a trial (a request, an upload and a WebSocket), else
 * Node's own server, which also serves TLS. The trial runs in its own process, which may crash. Its result is kept until the file or Node
 * changes.
 * @param options.natives possible paths of a native file, best first.
 * @param options.trialProgram the built `try-uws.ts`.
 * @param options.memoryPath a cache for the result; it may be deleted at any time.
 * @throws AppError `unavailable` when uWebSockets.js is requested and does not work.
 */
export async function chooseEngine(options: {
  readonly wanted: EngineName | null;
  readonly tls: Tls | null;
  readonly natives: readonly NativeFile[];
  readonly trialProgram: string;
  readonly memoryPath: string;
}): Promise<EngineChoice> {
  if (options.tls !== null) {
    if (options.wanted === 'uws') {
      throw new AppError(
        'unavailable',
        "HONE_HTTP=uws does not serve TLS: Node's own server does. Unset HONE_HTTP, or leave TLS to a reverse proxy.",
      );
    }
    return { engine: createNodeEngine(options.tls), reason: 'it serves TLS' };
  }
  if (options.wanted === 'node') return { engine: nodeEngine, reason: 'HONE_HTTP=node asks for it' };
  const native = options.natives.find(({ path }) => existsSync(path));
  const failure =
    native === undefined
      ? `there is no native build of uWebSockets.js for Node ${process.versions.node} on ${process.platform} ${process.arch}`
      : await failureOf(native, options.trialProgram, options.memoryPath);
  if (native !== undefined && failure === null) {
    return { engine: createUwsEngine(native.path, native.version), reason: null };
  }
  if (options.wanted === 'uws') {
    throw new AppError(
      'unavailable',
      `HONE_HTTP=uws, but ${failure}. Unset HONE_HTTP to serve with Node's own HTTP server, or run Hone with Node 20, for which set-up installs a native build.`,
    );
  }
  return { engine: nodeEngine, reason: failure };
}

async function failureOf(
  native: NativeFile,
  trialProgram: string,
  memoryPath: string,
): Promise<string | null> {
  const { size, mtimeMs } = statSync(native.path);
  const of = [native.path, size, mtimeMs, process.version, process.arch].join(' ');
  const known = recall(memoryPath);
  if (known?.of === of) return known.failure;
  const { failure, inTime } = await tryOut(native, trialProgram);
  // A timeout may be due to a busy machine, so try again at the next start.
  if (inTime) remember(memoryPath, { of, failure });
  return failure;
}

async function tryOut(
  { path, version }: NativeFile,
  trialProgram: string,
): Promise<{ failure: string | null; inTime: boolean }> {
  const env = { PATH: process.env.PATH, SystemRoot: process.env.SystemRoot };
  try {
    await run(process.execPath, [trialProgram, path, version], {
      timeout: trialMs,
      killSignal: 'SIGKILL',
      env,
    });
    return { failure: null, inTime: true };
  } catch (error) {
    const { killed, signal, stderr } = error as { killed?: boolean; signal?: string; stderr?: string };
    const said = stderr?.trim().split('\n').at(-1)?.slice(0, 300);
    const how = killed ? `gave no answer in ${trialMs / 1000} s` : signal ? `was ended by ${signal}` : said;
    return { failure: `uWebSockets.js ${version} does not work here (${how})`, inTime: !killed };
  }
}

function recall(path: string): Verdict | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Verdict;
  } catch {
    return null;
  }
}

function remember(path: string, verdict: Verdict): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify(verdict));
  } catch {
    // The next start tries again.
  }
}
