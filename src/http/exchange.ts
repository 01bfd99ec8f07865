import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { AppError } from '../errors.ts';
import { type Reply, withCommonHeaders } from './reply.ts';

/** Reasons for the statuses that we send (RFC 9110 and 4918). */
const reasons: Readonly<Record<number, string>> = {
  200: 'OK',
  204: 'No Content',
  206: 'Partial Content',
  304: 'Not Modified',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  413: 'Content Too Large',
  416: 'Range Not Satisfiable',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  507: 'Insufficient Storage',
};

const keptHeaders = [
  'host',
  'origin',
  'content-type',
  'content-length',
  'authorization',
  'if-none-match',
  'accept-encoding',
  'range',
] as const;
type KeptHeader = (typeof keptHeaders)[number];

/** Bodies that are read whole come in pieces of this size. */
const smallPieceBytes = 2 ** 16;

/**
 * One request and its response. The request of uWebSockets.js is gone after the first await, so `keep` copies
 * what may be needed, where the answer has not been sent until then; the response is written in one cork, once,
 * and never after the client has left.
 */
export class Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  aborted = false;
  private headers: Partial<Record<KeptHeader, string>> | null = null;
  private readonly res: HttpResponse;
  /** There until `keep`. */
  private req: HttpRequest | null;
  private controller: AbortController | null = null;
  private finished = false;
  /** The response is complete, and neither it nor the request may be touched again. */
  private written = false;
  private watched = false;
  private paused = false;
  /** The connection closes with the response, and the client still sends. */
  private lingers = false;
  private whenSent: (() => void) | null = null;

  constructor(res: HttpResponse, req: HttpRequest) {
    this.res = res;
    this.req = req;
    this.method = req.getMethod().toUpperCase();
    this.path = req.getUrl();
    this.query = req.getQuery() ?? '';
    if (this.method !== 'GET' && this.method !== 'HEAD' && req.getHeader('connection') !== '') {
      // A client that asks before it sends is answered before it sends.
      this.lingers =
        /\bclose\b/i.test(req.getHeader('connection')) &&
        req.getHeader('expect') === '' &&
        (Number(req.getHeader('content-length')) > 0 || req.getHeader('transfer-encoding') !== '');
      if (this.lingers) res.onData((_, isLast) => this.noteData(isLast));
    }
  }

  header(name: KeptHeader): string | undefined {
    return this.req === null ? this.headers?.[name] : this.req.getHeader(name) || undefined;
  }

  /** Must be called when the request's own callback returns, and not before. */
  keep(): void {
    const { req } = this;
    if (req === null) return;
    this.req = null;
    if (this.written) return;
    this.headers = {};
    for (const name of keptHeaders) {
      const value = req.getHeader(name);
      if (value !== '') this.headers[name] = value;
    }
    this.watchAbort();
  }

  private watchAbort(): void {
    if (this.watched) return;
    this.watched = true;
    this.res.onAborted(() => {
      this.aborted = true;
      this.controller?.abort();
    });
  }

  /** Aborts when the client goes away before the response is complete. */
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
    const announced = Number(this.header('content-length') ?? 0);
    const size = announced > 0 ? Math.min(announced, pieceBytes) : pieceBytes;
    const full: Buffer[] = [];
    const spare: Buffer[] = [];
    let piece: Buffer | null = null;
    let filledBytes = 0;
    let totalBytes = 0;
    let ended = false;
    let error: AppError | null = null;
    let wake: (() => void) | null = null;
    const tooLarge = () =>
      new AppError(
        'too_large',
        `The request is larger than the limit of ${limitBytes} bytes${announced > limitBytes ? ` (it announces ${announced})` : ''}.`,
        { details: { limitBytes } },
      );
    const { res } = this;
    if (announced > limitBytes) {
      // What still comes is read and dropped.
      error = tooLarge();
      res.onData((_, isLast) => this.noteData(isLast));
    } else {
      res.onData((data, isLast) => {
        this.noteData(isLast);
        if (this.finished) return;
        totalBytes += data.byteLength;
        if (totalBytes > limitBytes) error = tooLarge();
        // The bytes are gone when this returns.
        else for (let bytes = new Uint8Array(data); bytes.length > 0; ) bytes = fill(bytes);
        if (isLast && piece !== null) full.push(piece.subarray(0, filledBytes));
        ended ||= isLast;
        if (full.length > 1 && !ended && !this.paused) {
          this.paused = true;
          res.pause();
        }
        if (full.length > 0 || ended || error !== null) wake?.();
      });
    }
    /** Copies what there is room for into the piece at hand, and gives what is left. */
    function fill(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
      piece ??= spare.pop() ?? Buffer.allocUnsafe(size);
      const fitting = bytes.subarray(0, size - filledBytes);
      piece.set(fitting, filledBytes);
      filledBytes += fitting.length;
      if (filledBytes === size) {
        full.push(piece);
        piece = null;
        filledBytes = 0;
      }
      return bytes.subarray(fitting.length);
    }
    this.signal.addEventListener('abort', () => {
      error ??= new AppError('invalid', 'The client went away before its request was complete.');
      wake?.();
    });
    const exchange = this;
    return (async function* () {
      while (true) {
        if (error !== null) throw error;
        const next = full.shift();
        if (next !== undefined) {
          if (full.length <= 1) exchange.resume();
          yield next;
          spare.push(next);
        } else if (ended) return;
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          wake = null;
        }
      }
    })();
  }

  private resume(): void {
    if (!this.paused || this.aborted || this.finished) return;
    this.paused = false;
    this.res.resume();
  }

  private noteData(isLast: boolean): void {
    if (!isLast) return;
    this.lingers = false;
    this.whenSent?.();
  }

  /** Sends the response; a HEAD request gets its headers alone. Does nothing when the client has left. */
  send(reply: Reply): void {
    if (this.aborted || this.finished) return;
    // What the client still sends must be read (and dropped), or it would never come to the response.
    this.resume();
    this.finished = true;
    // Closing on what a client still sends resets the connection, and it never reads the response.
    if (this.lingers) this.whenSent = () => this.write(reply);
    else this.write(reply);
  }

  private write(reply: Reply): void {
    if (this.aborted) return;
    this.written = true;
    // Within the request's own callback everything is corked already.
    if (this.req !== null) this.writeWhole(reply);
    else this.res.cork(() => this.writeWhole(reply));
  }

  private writeWhole(reply: Reply): void {
    this.writeHead(reply.status, reply.headers);
    if (this.method === 'HEAD' || reply.status === 204 || reply.status === 304) {
      // Without a body it does not count as an answer before the request's callback returns.
      this.watchAbort();
      this.res.endWithoutBody(
        reply.status === 204 || reply.status === 304 ? undefined : Buffer.byteLength(reply.body),
      );
    } else this.res.end(reply.body);
  }

  /**
   * Starts a response whose body comes in pieces. `write` resolves when the client can take more, and
   * returns false once it has left.
   */
  stream(status: number, headers: Record<string, string>): BodyWriter {
    this.finished = true;
    const { res } = this;
    if (!this.aborted) res.cork(() => this.writeHead(status, withCommonHeaders(headers)));
    return {
      write: async (chunk) => {
        if (this.aborted) return false;
        let drained = true;
        const writable = new Promise<void>((resolve) => {
          res.onWritable(() => {
            resolve();
            return true;
          });
          this.signal.addEventListener('abort', () => resolve(), { once: true });
        });
        res.cork(() => {
          drained = res.write(chunk);
        });
        if (!drained) await writable;
        return !this.aborted;
      },
      end: () => {
        if (this.aborted) return;
        res.cork(() => (this.method === 'HEAD' ? res.endWithoutBody() : res.end()));
      },
    };
  }

  private writeHead(status: number, headers: Readonly<Record<string, string>>): void {
    // 200 is what is sent where nothing else is said.
    if (status !== 200) this.res.writeStatus(`${status} ${reasons[status] ?? 'Status'}`);
    for (const name in headers) this.res.writeHeader(name, headers[name] as string);
  }
}

/** The body of a response that is sent in pieces. */
export interface BodyWriter {
  write(chunk: string | Uint8Array): Promise<boolean>;
  end(): void;
}
