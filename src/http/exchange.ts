import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { AppError } from '../errors.ts';
import type { Holder } from './access/gate.ts';
import type { Peer } from './access/peers.ts';
import { BodyPieces } from './body-pieces.ts';
import type { Call } from './engines/engine.ts';
import { type Reply, withCommonHeaders } from './reply.ts';

const keptHeaders = [
  'host',
  'origin',
  'content-type',
  'content-length',
  'authorization',
  'x-api-key',
  'cookie',
  'if-none-match',
  'accept-encoding',
  'content-encoding',
  'range',
  'if-range',
  'sec-fetch-site',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
] as const;
type KeptHeader = (typeof keptHeaders)[number];
/** Needed before the first await alone: these are not copied for requests that are answered later. */
type EarlyHeader = 'accept' | 'access-control-request-method' | 'access-control-request-headers';

/** Bodies that are read whole come in pieces of this size. */
const smallPieceBytes = 2 ** 16;

const unlessRefused = '\\b(?!\\s*;\\s*q=0(\\.0*)?\\s*(,|$))';
/** How a header accepts a content coding. */
const codings = {
  br: new RegExp(`\\bbr${unlessRefused}`, 'i'),
  gzip: new RegExp(`\\bgzip${unlessRefused}`, 'i'),
} as const;

/** JSON larger than this is compressed if the client accepts it (bytes). */
const compressFromBytes = 1_000;
/** Disconnects clients that accept no data for this long, because each holds a file open. */
const stalledMs = 60_000;
const zip = promisify(gzip);

/**
 * One request and its response. What an engine tells of a request is gone after the first await, so `keep` copies
 * what may be needed, where the answer has not been sent until then; the response is sent once, and never after
 * the client has left.
 */
export class Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly peer: Peer;
  /** An error as this client may see it. */
  readonly shown: (error: AppError) => AppError;
  aborted = false;
  /** Whose key the client presents, where it matters. */
  holder: Holder | null = null;
  private headers: Partial<Record<KeptHeader, string>> | null = null;
  private readonly call: Call;
  private kept = false;
  private controller: AbortController | null = null;
  private finished = false;
  /** The response is complete; do not use it or the request. */
  private written = false;
  private watched = false;
  private paused = false;
  /** The connection closes after the response while the client is still sending. */
  private lingers = false;
  private whenSent: (() => void) | null = null;
  /** A body is being sent in pieces. */
  private streaming = false;
  /** What `addHeaders` was given. */
  private added: Readonly<Record<string, string>> | null = null;
  private id: string | null = null;

  constructor(call: Call, peer: Peer, shown: (error: AppError) => AppError) {
    this.call = call;
    this.peer = peer;
    this.shown = shown;
    this.method = call.method;
    this.path = call.path;
    this.query = call.query;
    if (this.method !== 'GET' && this.method !== 'HEAD' && call.header('connection') !== '') {
      // Responds to `Expect: 100-continue`.
      this.lingers =
        /\bclose\b/i.test(call.header('connection')) &&
        call.header('expect') === '' &&
        (Number(call.header('content-length')) > 0 || call.header('transfer-encoding') !== '');
      if (this.lingers) call.onData((_, isLast) => this.noteData(isLast));
    }
  }

  /** A header; those of `EarlyHeader` are known only before the engine's handler returns. */
  header(name: KeptHeader | EarlyHeader): string | undefined {
    return this.kept ? this.headers?.[name as KeptHeader] : this.call.header(name) || undefined;
  }

  /** An identifier of this request for logs and clients, in OpenAI's form. */
  get requestId(): string {
    this.id ??= `req_${randomBytes(16).toString('hex')}`;
    return this.id;
  }

  /** Adds headers to the response, whatever it will be. */
  addHeaders(headers: Readonly<Record<string, string>>): void {
    this.added = { ...this.added, ...headers };
  }

  /** The headers of the response. `Vary` may come from both sides. */
  private complete(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    if (this.added === null) return headers;
    const complete = { ...headers, ...this.added };
    if (headers.vary !== undefined && this.added.vary !== undefined)
      complete.vary = `${headers.vary}, ${this.added.vary}`;
    return complete;
  }

  /** Must be called when the engine's handler returns, and not before. */
  keep(): void {
    if (this.kept) return;
    this.kept = true;
    if (this.written) return;
    this.headers = {};
    for (const name of keptHeaders) {
      const value = this.call.header(name);
      if (value !== '') this.headers[name] = value;
    }
    this.watchAbort();
  }

  private watchAbort(): void {
    if (this.watched) return;
    this.watched = true;
    this.call.onAborted(() => {
      this.aborted = true;
      this.controller?.abort();
    });
  }

  /** Aborts if the client disconnects before the response is complete. */
  get signal(): AbortSignal {
    if (this.controller === null) {
      this.controller = new AbortController();
      if (this.aborted) this.controller.abort();
    }
    return this.controller.signal;
  }

  /**
   * The whole body. Must be called before the first await of the request.
   * @throws AppError `too_large` when it is longer than `limitBytes`, by its header or as it comes.
   */
  async readBody(limitBytes: number): Promise<Buffer> {
    const copies: Buffer[] = [];
    for await (const piece of this.bodyPieces(limitBytes, smallPieceBytes)) copies.push(Buffer.from(piece));
    return copies.length === 1 ? (copies[0] as Buffer) : Buffer.concat(copies);
  }

  /**
   * The body in pieces of `pieceBytes`, but for the last; the client is held back while the reader is behind.
   * A piece is good until the next is asked for: then its memory is filled again. Must be called (not
   * necessarily iterated) before the first await of the request.
   * @throws AppError `too_large` as above, `invalid` when the client leaves in the middle.
   */
  bodyPieces(limitBytes: number, pieceBytes: number): AsyncGenerator<Buffer> {
    const announcedBytes = Number(this.header('content-length') ?? 0);
    const body = new BodyPieces(limitBytes, announcedBytes, pieceBytes, {
      pause: () => this.pause(),
      resume: () => this.resume(),
    });
    this.call.onData((data, isLast) => {
      this.noteData(isLast);
      if (!this.finished) body.take(data, isLast);
    });
    this.signal.addEventListener('abort', () =>
      body.fail(new AppError('invalid', 'The client disconnected before the request was complete.')),
    );
    return body.read();
  }

  private pause(): void {
    if (this.paused) return;
    this.paused = true;
    this.call.pause();
  }

  private resume(): void {
    if (!this.paused || this.aborted || this.finished) return;
    this.paused = false;
    this.call.resume();
  }

  private noteData(isLast: boolean): void {
    if (!isLast) return;
    this.lingers = false;
    this.whenSent?.();
  }

  /** Sends the response, or only its headers for a HEAD request. Does nothing if the client has left. */
  send(reply: Reply): void {
    if (this.aborted) return;
    if (this.streaming) this.call.close();
    if (this.finished) return;
    // The rest of the request must be read and dropped, or the client may never read the response.
    this.resume();
    this.finished = true;
    if (reply.body.length > compressFromBytes && reply.isJson) void this.sendZipped(reply);
    else this.sendWhenRead(reply.headers, reply);
  }

  /** Tells caches that the response depends on this header. */
  private async sendZipped(reply: Reply): Promise<void> {
    const headers = { ...reply.headers, vary: 'accept-encoding' };
    if (!this.accepts('gzip')) return this.sendWhenRead(headers, reply);
    const body = await zip(reply.body);
    this.sendWhenRead({ ...headers, 'content-encoding': 'gzip' }, { status: reply.status, body });
  }

  /** Whether the client takes a content coding (RFC 9110, section 12.5.3). */
  accepts(coding: keyof typeof codings): boolean {
    return codings[coding].test(this.header('accept-encoding') ?? '');
  }

  private sendWhenRead(headers: Reply['headers'], { status, body }: Pick<Reply, 'status' | 'body'>): void {
    // Closing while the client still sends would reset the connection before it reads the response.
    if (this.lingers) this.whenSent = () => this.write(headers, status, body);
    else this.write(headers, status, body);
  }

  private write(own: Reply['headers'], status: number, body: Reply['body']): void {
    if (this.aborted) return;
    this.written = true;
    const headers = this.complete(own);
    if (status === 204 || status === 304) this.call.sendHead({ status, headers });
    else if (this.method === 'HEAD') this.call.sendHead({ status, headers }, Buffer.byteLength(body));
    else this.call.send({ status, headers }, body);
  }

  /**
   * Starts a response whose body comes in pieces.
   * @param lengthBytes of the whole body, where it is known: without it the body comes in chunks.
   */
  stream(status: number, headers: Record<string, string>, lengthBytes: number | null = null): BodyWriter {
    this.finished = true;
    const { call } = this;
    const head = { status, headers: this.complete(withCommonHeaders(headers)) };
    const bodiless = this.method === 'HEAD';
    this.watchAbort();
    if (!this.aborted && !bodiless) {
      this.streaming = true;
      call.begin(head, lengthBytes);
    }
    let left = lengthBytes ?? Number.POSITIVE_INFINITY;
    return {
      write: async (piece) => {
        if (this.aborted || bodiless) return false;
        left -= Buffer.byteLength(piece);
        const taken = call.write(piece);
        if (taken !== null) {
          const timer = setTimeout(() => call.close(), stalledMs);
          await taken;
          clearTimeout(timer);
        }
        return !this.aborted;
      },
      end: () => {
        if (this.aborted) return;
        this.streaming = false;
        if (bodiless) call.sendHead(head, lengthBytes ?? undefined);
        // The client expects more data; resetting the connection is the only way to signal the error.
        else if (left > 0 && lengthBytes !== null) call.close();
        else call.end();
      },
    };
  }
}

/** The body of a response that is sent in pieces. */
export interface BodyWriter {
  /**
   * Resolves when the client can take more, to false once it has left. The piece's memory must not change until then.
   */
  write(piece: string | Uint8Array): Promise<boolean>;
  end(): void;
}
