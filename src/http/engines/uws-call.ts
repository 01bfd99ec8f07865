import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import type { Call, Head } from './engine.ts';
import { reasonOf } from './reasons.ts';

const tryEveryMs = 3_000;

/** A uWebSockets.js request is invalid after the handler returns; until then, everything is corked. */
export class UwsCall implements Call {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  private readonly res: HttpResponse;
  private readonly req: HttpRequest;
  private inside = true;
  private lengthBytes: number | null = null;
  private complete = false;
  private tries: NodeJS.Timeout | undefined;
  /** A pending write; called with the body offset that the client has received. */
  private whenWritable: ((offset: number) => boolean) | null = null;
  private whenAborted: (() => void) | null = null;
  private watched = false;

  constructor(res: HttpResponse, req: HttpRequest) {
    this.res = res;
    this.req = req;
    this.method = req.getMethod().toUpperCase();
    this.path = req.getUrl();
    this.query = req.getQuery() ?? '';
  }

  leave(): void {
    this.inside = false;
  }

  header(name: string): string {
    return this.req.getHeader(name);
  }

  eachHeader(take: (name: string, value: string) => void): void {
    this.req.forEach(take);
  }

  remoteAddress(): string {
    const bytes = new Uint8Array(this.res.getRemoteAddress());
    if (bytes.length === 4) return `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}`;
    return Buffer.from(bytes).toString('hex').match(/.{4}/g)?.join(':') ?? '';
  }

  onAborted(told: () => void): void {
    this.whenAborted = told;
    if (this.watched) return;
    this.watched = true;
    this.res.onAborted(() => {
      this.finish();
      this.whenAborted?.();
      this.whenWritable?.(0);
    });
  }

  onData(take: (piece: Uint8Array, isLast: boolean) => void): void {
    this.res.onData((data, isLast) => take(new Uint8Array(data), isLast));
  }

  pause(): void {
    this.res.pause();
  }

  resume(): void {
    this.res.resume();
  }

  send(head: Head, body: string | Uint8Array, closing = false): void {
    this.cork(() => {
      this.writeHead(head);
      this.res.end(body as string, closing);
    });
  }

  sendHead(head: Head, lengthBytes?: number): void {
    // Without a body it does not count as an answer before the handler returns.
    if (this.inside) this.onAborted(this.whenAborted ?? (() => undefined));
    this.cork(() => {
      this.writeHead(head);
      // With a length, it would wait for a body and close the connection at the next request.
      if (lengthBytes !== undefined) this.res.writeHeader('Content-Length', String(lengthBytes));
      this.res.endWithoutBody();
    });
  }

  begin(head: Head, lengthBytes: number | null): void {
    this.lengthBytes = lengthBytes;
    this.cork(() => this.writeHead(head));
    this.res.onWritable((offset) => this.whenWritable?.(offset) ?? true);
  }

  write(piece: string | Uint8Array): Promise<void> | null {
    const { lengthBytes, res } = this;
    if (lengthBytes === null) {
      let taken = true;
      this.cork(() => {
        taken = res.write(piece as string);
      });
      return taken ? null : this.untilWritable(() => true);
    }
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
    const start = res.getWriteOffset();
    const put = (from: number): boolean => {
      let answer = [false, false];
      this.cork(() => {
        answer = res.tryEnd(bytes.subarray(from), lengthBytes);
      });
      const [taken, complete] = answer as [boolean, boolean];
      if (complete) this.finish();
      return taken || complete;
    };
    return put(0) ? null : this.untilWritable((offset) => put(offset - start));
  }

  /**
   * Waits until `goOn` reports that everything was sent. The timeout is decided by the caller; the library closes after ten
   * seconds without an attempt to write, so this tries regularly.
   */
  private untilWritable(goOn: (offset: number) => boolean): Promise<void> {
    return new Promise((resolve) => {
      if (this.lengthBytes !== null) {
        this.tries = setInterval(() => this.whenWritable?.(this.res.getWriteOffset()), tryEveryMs);
      }
      this.whenWritable = (offset) => {
        const done = this.complete || goOn(offset);
        if (done) {
          clearInterval(this.tries);
          this.whenWritable = null;
          resolve();
        }
        return done;
      };
    });
  }

  end(): void {
    if (this.complete) return;
    this.finish();
    this.cork(() => this.res.end());
  }

  close(): void {
    if (!this.complete) this.res.close();
  }

  private finish(): void {
    this.complete = true;
    clearInterval(this.tries);
  }

  private cork(work: () => void): void {
    if (this.inside) work();
    else this.res.cork(work);
  }

  private writeHead({ status, headers }: Head): void {
    // 200 is the default.
    if (status !== 200) this.res.writeStatus(`${status} ${reasonOf(status)}`);
    for (const name in headers) this.res.writeHeader(name, headers[name] as string);
  }
}
