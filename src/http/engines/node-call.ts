import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Call, Head } from './engine.ts';
import type { Incoming, Patience } from './patience.ts';
import { reasonOf } from './reasons.ts';

const nothing = new Uint8Array();

/** A target in absolute form (RFC 9112, section 3.2.2) as one in origin form. */
const originForm = (target: string): string =>
  target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*(?=([/?]|$))\/?/i, '/');

/**
 * A request of Node's `http`, and its response.
 * @param patience `null` closes the connection with the response and reads nothing more from it.
 */
export class NodeCall implements Call {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  private readonly req: IncomingMessage;
  private readonly res: ServerResponse;
  private readonly patience: Patience | null;
  private body: Incoming | null = null;
  private take: (piece: Uint8Array, isLast: boolean) => void = () => undefined;
  /** Resolves the pending write once the client has taken it or left. */
  private wake: (() => void) | null = null;

  constructor(req: IncomingMessage, res: ServerResponse, patience: Patience | null) {
    this.req = req;
    this.res = res;
    this.patience = patience;
    this.method = req.method as string;
    const target = originForm(req.url as string);
    const mark = target.indexOf('?');
    this.path = mark < 0 ? target : target.slice(0, mark);
    this.query = mark < 0 ? '' : target.slice(mark + 1);
  }

  // `req.headers` would build an object of all headers, but most requests need only two.
  header(name: string): string {
    const { rawHeaders } = this.req;
    for (let at = 0; at < rawHeaders.length; at += 2) {
      const key = rawHeaders[at] as string;
      if (key.length === name.length && (key === name || key.toLowerCase() === name)) {
        return rawHeaders[at + 1] as string;
      }
    }
    return '';
  }

  eachHeader(take: (name: string, value: string) => void): void {
    const { rawHeaders } = this.req;
    for (let at = 0; at < rawHeaders.length; at += 2) {
      take((rawHeaders[at] as string).toLowerCase(), rawHeaders[at + 1] as string);
    }
  }

  remoteAddress(): string {
    return this.req.socket.remoteAddress ?? '';
  }

  onAborted(told: () => void): void {
    this.res.once('close', () => {
      if (this.res.writableFinished) return;
      told();
      this.wake?.();
    });
  }

  onData(take: (piece: Uint8Array, isLast: boolean) => void): void {
    this.take = take;
    if (this.body === null) this.receive();
  }

  private receive(): void {
    const { patience, req } = this;
    const body: Incoming = { bytes: 0, since: performance.now(), held: false, giveUp: () => req.destroy() };
    this.body = body;
    patience?.add(body);
    req.on('data', (piece: Buffer) => {
      body.bytes += piece.length;
      this.take(piece, false);
    });
    req.on('end', () => this.take(nothing, true));
    req.on('close', () => patience?.remove(body));
  }

  pause(): void {
    if (this.body !== null) this.body.held = true;
    this.req.pause();
  }

  resume(): void {
    if (this.body !== null) this.body.held = false;
    this.req.resume();
  }

  send(head: Head, body: string | Uint8Array, closing = false): void {
    const bytes = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    this.writeHead(head, bytes, closing);
    this.res.end(body);
  }

  sendHead(head: Head, lengthBytes?: number): void {
    this.writeHead(head, lengthBytes ?? null, false);
    this.res.end();
  }

  begin(head: Head, lengthBytes: number | null): void {
    this.writeHead(head, lengthBytes, false);
  }

  write(piece: string | Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
      this.res.write(piece, () => resolve());
    });
  }

  end(): void {
    this.res.end();
  }

  close(): void {
    this.res.destroy();
  }

  private writeHead({ status, headers }: Head, lengthBytes: number | null, closing: boolean): void {
    const flat: string[] = [];
    for (const name in headers) flat.push(name, headers[name] as string);
    if (lengthBytes !== null) flat.push('Content-Length', String(lengthBytes));
    // Reads and drops what the client still sends, for a limited time.
    if (this.body === null && this.method !== 'GET' && this.method !== 'HEAD') this.receive();
    // The connection is still kept alive, which is HTTP/1.1's default.
    if (closing || this.patience === null) this.res.shouldKeepAlive = false;
    else this.res.removeHeader('connection');
    this.res.writeHead(status, reasonOf(status), flat);
  }
}
