import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { serviceFile } from '../contract/access.ts';

/** How commands of this user reach the running service, whatever its access mode. */
export interface LocalService {
  readonly pid: number;
  readonly url: string;
  /** Opens the service until it ends. */
  readonly key: string;
  /** SHA-256 of its certificate, which need not be one that this machine trusts; `null` without TLS. */
  readonly certificate: string | null;
}

const fileIn = (dataDir: string) => join(dataDir, serviceFile);

/** Writes it to a file that only this user can read. */
export function writeLocalService(dataDir: string, service: LocalService): void {
  // An existing file would keep its permissions.
  removeLocalService(dataDir);
  writeFileSync(fileIn(dataDir), JSON.stringify(service), { mode: 0o600, flag: 'wx' });
}

export const removeLocalService = (dataDir: string): void => rmSync(fileIn(dataDir), { force: true });

/** What the last service of a data directory wrote, which may have ended; `null` if there is nothing. */
export function readLocalService(dataDir: string): LocalService | null {
  try {
    return JSON.parse(readFileSync(fileIn(dataDir), 'utf8')) as LocalService;
  } catch {
    return null;
  }
}

/** What is sent in a request. */
export interface LocalRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | FormData | null;
  readonly signal?: AbortSignal;
}

/** A response; its body is read once. */
export interface LocalResponse {
  readonly status: number;
  /** Whether the status is 2xx. */
  readonly ok: boolean;
  readonly body: AsyncIterable<Uint8Array>;
  text(): Promise<string>;
  json(): Promise<unknown>;
}

/**
 * Sends a request to it and waits for the response however long that takes, such as that of a push; `fetch` gives up
 * after five minutes, trusts no certificate of one's own, and takes a command 30 ms to load.
 * @throws the system's error if there is no connection (`isUnreachable`).
 */
export async function fetchLocal(
  { url, key, certificate }: LocalService,
  path: string,
  { method = 'GET', headers = {}, body = null, signal }: LocalRequest = {},
): Promise<LocalResponse> {
  const sent = typeof body === 'object' && body !== null ? await encoded(body) : { body, headers: {} };
  const target = new URL(path, url);
  const socket = certificate === null ? null : await connectPinned(target, certificate);
  const { request: send } = socket === null ? await import('node:http') : await import('node:https');
  // A connection of its own: one that is kept may be closed by the service at the moment when it is used again.
  const connection = socket === null ? { agent: false as const } : { createConnection: () => socket };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = send(target, {
      method,
      headers: { ...headers, ...sent.headers, authorization: `Bearer ${key}`, connection: 'close' },
      ...connection,
      signal,
    });
    request.once('response', resolve).once('error', reject).end(sent.body);
  });
  const status = response.statusCode ?? 500;
  return {
    status,
    ok: status >= 200 && status < 300,
    body: response,
    text: () => text(response),
    json: () => json(response),
  };
}

/** The body of a form, and its type. */
async function encoded(form: FormData): Promise<{ body: Buffer; headers: Record<string, string> }> {
  const whole = new Response(form);
  const headers = Object.fromEntries(whole.headers);
  return { body: Buffer.from(await whole.arrayBuffer()), headers };
}

/** Whether an error says that a service does not respond, or has left in the middle of a response. */
export const isUnreachable = (error: unknown): boolean =>
  ['ECONNREFUSED', 'ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '');

async function connectPinned({ hostname, port }: URL, certificate: string): Promise<TLSSocket> {
  const { connect } = await import('node:tls');
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return new Promise((resolve, reject) => {
    // The certificate is compared instead, before anything is sent.
    const socket = connect({ host, port: Number(port || 443), rejectUnauthorized: false }, () => {
      socket.off('error', reject);
      if (socket.getPeerX509Certificate()?.fingerprint256 === certificate) return resolve(socket);
      socket.destroy();
      reject(
        new Error(`The service at ${host}:${port} has another certificate than the one that was started`),
      );
    });
    socket.once('error', reject);
  });
}
