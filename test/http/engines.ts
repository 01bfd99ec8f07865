import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { EngineName } from '../../src/http/engines/engine.ts';
import { nativeFiles } from '../../src/http/engines/natives.ts';
import { root } from '../service.ts';

/** The native file of uWebSockets.js that loads in this Node, or `undefined`: then Node's own engine is tested alone. */
export const native = nativeFiles(root).find(({ path }) => {
  try {
    createRequire(import.meta.url)(path);
    return true;
  } catch {
    return false;
  }
});

/** The engines that there are in this Node. */
export const engines: readonly EngineName[] = native === undefined ? ['node'] : ['uws', 'node'];

/** The registry's build of uWebSockets.js, for Node 20; later releases differ from it in what they do themselves. */
export const isRegistrys = native?.version.startsWith('20.30.') === true;

/** The head of an HTTP/1.1 request, such as of `POST /api/count`. */
export const head = (start: string, ...headers: string[]) =>
  `${[`${start} HTTP/1.1`, 'host: localhost', ...headers].join('\r\n')}\r\n\r\n`;
export const get = (path: string, ...headers: string[]) => head(`GET ${path}`, ...headers);

/** A server of `little-server.ts` in a process of its own. */
export interface LittleServer {
  readonly name: EngineName;
  readonly port: number;
  readonly folder: string;
  readonly pid: number;
  /** What it told on its standard output since the last call. */
  told(): string[];
  end(): Promise<void>;
}

export async function startLittleServer(name: EngineName, folder: string): Promise<LittleServer> {
  const program = join(dirname(fileURLToPath(import.meta.url)), 'little-server.ts');
  const child = spawn(process.execPath, ['--import', 'tsx', program, name, folder], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  // A warning (of too many listeners, of a write at the wrong time) is told, too.
  createInterface({ input: child.stderr }).on('line', (line) => lines.push(`stderr: ${line}`));
  const port = await new Promise<number>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const listening = /^listening (\d+)$/.exec(line);
      if (listening) resolve(Number(listening[1]));
      else lines.push(line);
    });
    child.once('exit', (code) =>
      reject(new Error(`The little server ended with ${code}: ${lines.join('\n')}`)),
    );
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return {
    name,
    port,
    folder,
    pid: child.pid as number,
    told: () => lines.splice(0),
    end: () => {
      child.kill();
      return ended;
    },
  };
}

/** What came back over a connection, and how it ended. */
export interface Conversation {
  /** In latin1: a character a byte. */
  readonly text: string;
  readonly end: 'closed' | 'open';
}

/** How long a busy machine may take to begin an answer. */
const firstByteMs = 2_000;

/**
 * Sends parts as they are, and gives what came back until the server closed the connection or, after it has begun to
 * answer, was silent for `quietMs`.
 * @param parts texts, and numbers of milliseconds to wait between them.
 */
export function converse(
  port: number,
  parts: readonly (string | number)[],
  quietMs = 250,
): Promise<Conversation> {
  return new Promise((resolve) => {
    let text = '';
    let timer: NodeJS.Timeout;
    const socket = connect(port, '127.0.0.1', async () => {
      for (const part of parts) {
        if (typeof part === 'number') await new Promise((done) => setTimeout(done, part));
        else if (!socket.destroyed) socket.write(part, 'latin1');
      }
      wait();
    });
    const finish = (end: 'closed' | 'open') => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ text, end });
    };
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(() => finish('open'), text === '' ? Math.max(firstByteMs, quietMs) : quietMs);
    };
    socket.setEncoding('latin1');
    socket.on('data', (chunk) => {
      text += chunk;
      wait();
    });
    socket.on('end', () => finish('closed'));
    socket.on('error', () => finish('closed'));
  });
}

/** A response without what may differ: headers sorted, without `Date`. */
export function withoutOrder(text: string): string {
  return text.replace(/(HTTP\/1\.1 .*\r\n)((?:.+\r\n)*)/g, (_, first: string, headers: string) => {
    const kept = headers
      .split('\r\n')
      .filter((line) => line !== '' && !/^(date|etag|last-modified):/i.test(line));
    return `${first}${kept.sort().join('\r\n')}\r\n`;
  });
}

/** The memory of a process that is in use (proc(5)). */
export const residentBytes = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
