import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
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

/** Sends a request to it, as `fetch` does. */
export async function fetchLocal(
  { url, key, certificate }: LocalService,
  path: string,
  init: RequestInit = {},
): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set('authorization', `Bearer ${key}`);
  const wanted = new Request(new URL(path, url), { ...init, headers });
  return certificate === null ? fetch(wanted) : fetchPinned(wanted, certificate);
}

/** Over TLS to the holder of one certificate: `fetch` trusts authorities only. */
async function fetchPinned(wanted: Request, certificate: string): Promise<Response> {
  const body = Buffer.from(await wanted.arrayBuffer());
  const { hostname, port } = new URL(wanted.url);
  const socket = await connectPinned(hostname.replace(/^\[(.*)\]$/, '$1'), Number(port || 443), certificate);
  return new Promise((resolve, reject) => {
    const sent = request(
      wanted.url,
      {
        method: wanted.method,
        headers: {
          ...Object.fromEntries(wanted.headers),
          'content-length': body.length,
          connection: 'close',
        },
        createConnection: () => socket,
      },
      async (response) => {
        try {
          const pieces: Buffer[] = [];
          for await (const piece of response) pieces.push(piece as Buffer);
          resolve(new Response(Buffer.concat(pieces), { status: response.statusCode ?? 500 }));
        } catch (error) {
          reject(error);
        }
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

function connectPinned(host: string, port: number, certificate: string): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    // The certificate is compared instead, before anything is sent.
    const socket = connect({ host, port, rejectUnauthorized: false }, () => {
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
