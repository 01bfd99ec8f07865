import { AppError } from '../errors.ts';

/** Pauses the client while the consumer is behind. */
interface Flow {
  pause(): void;
  resume(): void;
}

/** Collects the body of a request into chunks of one size. */
export class BodyPieces {
  private readonly limitBytes: number;
  private readonly announcedBytes: number;
  private readonly pieceBytes: number;
  private readonly flow: Flow;
  private readonly full: Buffer[] = [];
  private readonly spare: Buffer[] = [];
  private piece: Buffer | null = null;
  private filledBytes = 0;
  private totalBytes = 0;
  private isComplete = false;
  private error: AppError | null = null;
  private wake = () => {};

  /** @param announcedBytes the `Content-Length`, or 0. */
  constructor(limitBytes: number, announcedBytes: number, pieceBytes: number, flow: Flow) {
    this.limitBytes = limitBytes;
    this.announcedBytes = announcedBytes;
    this.pieceBytes = announcedBytes > 0 ? Math.min(announcedBytes, pieceBytes) : pieceBytes;
    this.flow = flow;
    if (announcedBytes > limitBytes) this.refuse();
  }

  /** Adds received bytes, whose memory may become invalid afterwards. Ignored after a failure. */
  take(data: Uint8Array, isLast: boolean): void {
    if (this.error !== null) return;
    this.totalBytes += data.byteLength;
    if (this.totalBytes > this.limitBytes) {
      this.refuse();
      return;
    }
    for (let rest = data; rest.length > 0; ) rest = this.fill(rest);
    if (isLast) {
      if (this.piece !== null) this.full.push(this.piece.subarray(0, this.filledBytes));
      this.isComplete = true;
    } else if (this.full.length > 1) this.flow.pause();
    if (this.full.length > 0 || isLast) this.wake();
  }

  /** Ends the iteration with an error. */
  fail(error: AppError): void {
    this.error ??= error;
    this.wake();
  }

  /** The chunks. Each is valid until the next one is requested, which reuses its memory. */
  async *read(): AsyncGenerator<Buffer> {
    while (true) {
      if (this.error !== null) throw this.error;
      const next = this.full.shift();
      if (next !== undefined) {
        if (this.full.length <= 1) this.flow.resume();
        yield next;
        this.spare.push(next);
      } else if (this.isComplete) return;
      else {
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
      }
    }
  }

  private refuse(): void {
    const announced =
      this.announcedBytes > this.limitBytes ? ` (its Content-Length is ${this.announcedBytes})` : '';
    this.fail(
      new AppError(
        'too_large',
        `The request is larger than the limit of ${this.limitBytes} bytes${announced}.`,
        { details: { limitBytes: this.limitBytes } },
      ),
    );
  }

  /** Copies what fits into the current chunk. @returns the rest. */
  private fill(bytes: Uint8Array): Uint8Array {
    this.piece ??= this.spare.pop() ?? Buffer.allocUnsafe(this.pieceBytes);
    const fitting = bytes.subarray(0, this.pieceBytes - this.filledBytes);
    this.piece.set(fitting, this.filledBytes);
    this.filledBytes += fitting.length;
    if (this.filledBytes === this.pieceBytes) {
      this.full.push(this.piece);
      this.piece = null;
      this.filledBytes = 0;
    }
    return bytes.subarray(fitting.length);
  }
}
