import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readBody } from './exchange.ts';
import { type Fault, misbehave } from './fault.ts';
import { sha256Of } from './repositories.ts';

/** A request as it arrived: what a test looks at. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | null;
  readonly range: string | null;
}

/** The host beside the hub that keeps large files: another origin, which must never see the hub's token. */
export interface Storage {
  readonly url: string;
  readonly objects: Map<string, Buffer>;
  readonly seen: Seen[];
  readonly faults: Fault[];
  /** Where a large file is put, whole or in parts. */
  uploadAction(
    oid: string,
    sizeBytes: number,
    partBytes: number,
  ): { href: string; header?: Record<string, string> };
  close(): Promise<void>;
}

/** Sends bytes, or the range of them that was asked for. */
export function sendBytes(request: IncomingMessage, response: ServerResponse, bytes: Buffer): void {
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  response.setHeader('accept-ranges', 'bytes');
  if (range === null) {
    response.writeHead(200, { 'content-length': bytes.length });
    response.end(request.method === 'HEAD' ? undefined : bytes);
    return;
  }
  const start = Number(range[1]);
  const end = Math.min(range[2] ? Number(range[2]) : bytes.length - 1, bytes.length - 1);
  if (start > end) {
    response.writeHead(416, { 'content-range': `bytes */${bytes.length}` }).end();
    return;
  }
  response.writeHead(206, {
    'content-length': end - start + 1,
    'content-range': `bytes ${start}-${end}/${bytes.length}`,
  });
  response.end(bytes.subarray(start, end + 1));
}

export async function startStorage(): Promise<Storage> {
  const objects = new Map<string, Buffer>();
  const parts = new Map<string, Map<number, Buffer>>();
  const seen: Seen[] = [];
  const faults: Fault[] = [];

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://storage');
    seen.push({
      method: request.method ?? '',
      path: url.pathname,
      authorization: request.headers.authorization ?? null,
      range: request.headers.range ?? null,
    });
    if (await misbehave(faults, request, response)) return;
    const oid = url.pathname.slice(1);
    const part = Number(url.searchParams.get('part') ?? 0);
    if (request.method === 'PUT') {
      // Signed addresses take no chunked body: the size is part of what is signed.
      if (request.headers['content-length'] === undefined) {
        response.writeHead(411).end();
        return;
      }
      const body = await readBody(request);
      if (part > 0) parts.set(oid, (parts.get(oid) ?? new Map()).set(part, body));
      else if (sha256Of(body) === oid) objects.set(oid, body);
      else return void response.writeHead(400).end('the bytes are not those of this name');
      response.writeHead(200, { etag: `"${sha256Of(body).slice(0, 32)}"` }).end();
    } else if (request.method === 'POST') {
      const body = JSON.parse((await readBody(request)).toString()) as {
        parts: { partNumber: number; etag: string }[];
      };
      const whole = Buffer.concat(
        body.parts.map(({ partNumber }) => parts.get(oid)?.get(partNumber) ?? Buffer.alloc(0)),
      );
      if (sha256Of(whole) !== oid) return void response.writeHead(400).end('a part is missing');
      objects.set(oid, whole);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    } else {
      const bytes = objects.get(oid);
      if (bytes === undefined) response.writeHead(404).end();
      else sendBytes(request, response, bytes);
    }
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  // Another name than the hub's: clients of the hub compare hosts without their ports.
  const url = `http://localhost:${(server.address() as AddressInfo).port}`;
  return {
    url,
    objects,
    seen,
    faults,
    uploadAction(oid, sizeBytes, partBytes) {
      const href = `${url}/${oid}?signature=secret`;
      if (sizeBytes <= partBytes) return { href };
      const header: Record<string, string> = { chunk_size: String(partBytes) };
      for (let part = 1; (part - 1) * partBytes < sizeBytes; part += 1) {
        header[String(part).padStart(5, '0')] = `${href}&part=${part}`;
      }
      return { href, header };
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
