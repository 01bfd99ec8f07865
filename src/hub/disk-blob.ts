import { open } from 'node:fs/promises';

/** Bytes read from disk at a time. */
const pieceBytes = 2 ** 18;

/**
 * A part of a file as a blob with backpressure. (The library's own implementation reads ahead without limit, because
 * `Readable.toWeb` counts chunks instead of bytes: a merged model would be held in memory.)
 */
export class DiskBlob extends Blob {
  private readonly path: string;
  private readonly from: number;
  private readonly to: number;

  /** The bytes from `from` until before `to` of the file at `path`. */
  constructor(path: string, from: number, to: number) {
    super();
    this.path = path;
    this.from = from;
    this.to = to;
  }

  override get size(): number {
    return this.to - this.from;
  }

  override slice(start = 0, end = this.size): DiskBlob {
    const to = Math.min(this.from + end, this.to);
    return new DiskBlob(this.path, Math.min(this.from + start, to), to);
  }

  override stream(): ReturnType<Blob['stream']> {
    const { path, from, to } = this;
    let at = from;
    let file: Awaited<ReturnType<typeof open>> | null = null;
    return new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        async pull(controller) {
          file ??= await open(path, 'r');
          const piece = new Uint8Array(Math.min(pieceBytes, to - at));
          const { bytesRead } = await file.read(piece, 0, piece.length, at);
          at += bytesRead;
          if (bytesRead > 0) controller.enqueue(piece.subarray(0, bytesRead));
          if (at < to && bytesRead > 0) return;
          await file.close();
          if (at < to) controller.error(new Error(`${path} was truncated while it was read`));
          else controller.close();
        },
        async cancel() {
          await file?.close();
        },
      },
      { highWaterMark: 0 },
    );
  }

  override async arrayBuffer(): Promise<ArrayBuffer> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.stream()) pieces.push(piece);
    const whole = new Uint8Array(this.size);
    let at = 0;
    for (const piece of pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole.buffer;
  }

  override async text(): Promise<string> {
    return new TextDecoder().decode(await this.arrayBuffer());
  }
}
