import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { root } from '../folders.ts';
import type { Json } from '../service.ts';

/** A request; `from` is the client's address. */
export interface Sent {
  readonly from?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Json;
}

/** What came back. `body` is parsed if it is JSON. */
export interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
  readonly body: Json;
}

/** Sends requests to a host from addresses of its own. */
export interface Clients {
  /** The service's address for them. */
  readonly host: string;
  /** An address that no request has come from yet, because wrong keys are counted by address. */
  freshAddress(): string;
  ask(port: number, method: string, path: string, sent?: Sent): Promise<Got>;
  end(): void;
}

/** Clients on this machine, at the loopback addresses 127.64.0.0/10. */
export const localClients = (): Clients => start('127.0.0.1', 127 * 2 ** 24 + 64 * 2 ** 16, []);

/**
 * Clients on another machine, as far as the service can see: in a network namespace that is connected by a pair of virtual
 * devices (ip-netns(8), veth(4)), with the addresses 198.19.0.0/16 (for tests of networks, RFC 2544).
 * @returns the reason if this user or system cannot make one.
 */
export function farClients(): Clients | string {
  const name = `hone-${process.pid}`;
  const here = `hone${process.pid}a`.slice(-15);
  const there = `hone${process.pid}b`.slice(-15);
  // Of a /30 network of its own, so that several tests can run at once.
  const block = 198 * 2 ** 24 + 18 * 2 ** 16 + (process.pid % 2 ** 14) * 4;
  const [ours, theirs] = [dotted(block + 1), dotted(block + 2)];
  // The range behind it, of 4,096 addresses: the test of all routes takes about 2,100.
  const range = 198 * 2 ** 24 + 19 * 2 ** 16 + (process.pid % 16) * 4096;
  const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  try {
    ip('netns', 'add', name);
    ip('link', 'add', here, 'type', 'veth', 'peer', 'name', there);
    ip('link', 'set', there, 'netns', name);
    ip('addr', 'add', `${ours}/30`, 'dev', here);
    ip('link', 'set', here, 'up');
    ip('-n', name, 'addr', 'add', `${theirs}/30`, 'dev', there);
    ip('-n', name, 'link', 'set', there, 'up');
    ip('-n', name, 'link', 'set', 'lo', 'up');
    ip('-n', name, 'route', 'add', 'local', `${dotted(range)}/20`, 'dev', 'lo');
    ip('route', 'add', `${dotted(range)}/20`, 'via', theirs);
  } catch (error) {
    remove(name);
    const said = String((error as { stderr?: Buffer }).stderr ?? '').trim();
    return `a network namespace cannot be made here: ${said || (error as Error).message}`;
  }
  process.once('exit', () => remove(name));
  const clients = start(ours, range, ['ip', 'netns', 'exec', name]);
  return {
    ...clients,
    end: () => {
      clients.end();
      remove(name);
    },
  };
}

/** Also removes its device, and with that the other one and the route. */
function remove(name: string): void {
  try {
    execFileSync('ip', ['netns', 'delete', name], { stdio: 'ignore' });
  } catch {
    // It was not made, or was removed already.
  }
}

const dotted = (address: number) =>
  [24, 16, 8, 0].map((bits) => Math.floor(address / 2 ** bits) % 256).join('.');

function start(host: string, firstAddress: number, within: readonly string[]): Clients {
  const command = [...within, process.execPath, join(root, 'test', 'http', 'far-client.mjs')];
  const child: ChildProcess = spawn(command[0] as string, command.slice(1), {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  process.once('exit', () => child.kill('SIGKILL'));
  const waiting = new Map<number, { resolve: (got: Got) => void; reject: (error: Error) => void }>();
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
    const { number, error, status, headers, text } = JSON.parse(line);
    const one = waiting.get(number);
    waiting.delete(number);
    if (error !== undefined) one?.reject(new Error(error));
    else {
      const isJson = String(headers['content-type']).startsWith('application/json');
      one?.resolve({ status, headers, text, body: isJson && text !== '' ? JSON.parse(text) : null });
    }
  });
  let asked = 0;
  let addresses = 0;
  return {
    host,
    freshAddress: () => dotted(firstAddress + ++addresses),
    ask: (port, method, path, { from, headers = {}, body } = {}) =>
      new Promise((resolve, reject) => {
        const number = ++asked;
        waiting.set(number, { resolve, reject });
        const typed = body === undefined ? headers : { 'content-type': 'application/json', ...headers };
        const sent = { number, host, port, from, method, path, headers: typed };
        const line = JSON.stringify({
          ...sent,
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        child.stdin?.write(`${line}\n`);
      }),
    end: () => void child.kill('SIGKILL'),
  };
}
