import { type FileHandle, open } from 'node:fs/promises';
import { AppError } from '../errors.ts';
import type { Exchange } from './exchange.ts';
import { Reply } from './reply.ts';

/** A file that is sent piece by piece. */
export interface SentFile {
  /** The name sent to the client; it saves the part after the last slash. */
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
}

/** A download uses two chunks of this size. */
const pieceBytes = 2 ** 17;

/** What identifies the file's content (RFC 9110, section 8.8): a file that is written again has another time. */
async function validatorsOf(file: FileHandle): Promise<{ etag: string; 'last-modified': string }> {
  const { size, mtimeNs, mtime, ino } = await file.stat({ bigint: true });
  const etag = [size, mtimeNs, ino].map((part) => part.toString(36)).join('-');
  return { etag: `"${etag}"`, 'last-modified': mtime.toUTCString() };
}

/**
 * Sends a file as a download, at the client's pace. A single range (RFC 9110, section 14) is supported, so that
 * interrupted downloads can be resumed; with `If-Range`, only if the file is still the same.
 * @throws AppError `invalid` (416) for a range outside of the file.
 */
export async function sendFile(
  exchange: Exchange,
  { name, path, bytes }: SentFile,
): Promise<Reply | undefined> {
  await using file = await open(path).catch((cause: NodeJS.ErrnoException) => {
    // It was deleted since it was listed.
    throw cause.code === 'ENOENT' ? new AppError('not_found', `The file ${name} is gone.`, { cause }) : cause;
  });
  const validators = await validatorsOf(file);
  const known = exchange.header('if-none-match');
  if (known === '*' || known?.split(/,\s*/).some((tag) => tag.replace(/^W\//, '') === validators.etag))
    return new Reply(304, '', validators);
  const same = exchange.header('if-range');
  const isSame = same === undefined || same === validators.etag || same === validators['last-modified'];
  const range = /^bytes=(\d*)-(\d*)$/.exec(exchange.header('range') ?? '');
  const partial = isSame && range !== null && (range[1] || range[2]);
  let start = 0;
  let end = bytes - 1;
  if (partial) {
    start = range[1] ? Number(range[1]) : Math.max(0, bytes - Number(range[2]));
    end = range[1] && range[2] ? Math.min(end, Number(range[2])) : end;
    if (start > end) {
      throw new AppError(
        'invalid',
        `The file has ${bytes} bytes; the range ${range[0].slice(0, 100)} is out of bounds.`,
        { details: { status: 416 } },
      );
    }
  }
  const base = name.split('/').at(-1) as string;
  const headers: Record<string, string> = {
    'content-type': 'application/octet-stream',
    'accept-ranges': 'bytes',
    ...validators,
    'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(base)}`,
  };
  if (partial) headers['content-range'] = `bytes ${start}-${end}/${bytes}`;
  const body = exchange.stream(partial ? 206 : 200, headers, end - start + 1);
  for await (const piece of piecesOf(file, start, end)) if (!(await body.write(piece))) break;
  body.end();
  return undefined;
}

/**
 * Reads from `start` to `end`, both included, or as far as the file goes. The next piece is read while one is being
 * sent; a piece is good until the next is asked for.
 */
async function* piecesOf(file: FileHandle, start: number, end: number): AsyncGenerator<Buffer> {
  const buffers = [Buffer.allocUnsafe(pieceBytes), Buffer.allocUnsafe(pieceBytes)] as const;
  const read = (at: number, into: Buffer) =>
    at > end ? null : file.read(into, 0, Math.min(pieceBytes, end - at + 1), at);
  let at = start;
  let coming = read(at, buffers[0]);
  try {
    for (let turn = 1; coming !== null; turn += 1) {
      const { bytesRead, buffer } = await coming;
      coming = null;
      if (bytesRead === 0) return;
      at += bytesRead;
      coming = read(at, buffers[(turn % 2) as 0 | 1]);
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    // Do not close the file during a read.
    await coming?.catch(() => undefined);
  }
}
