import type { Readable } from 'node:stream';
import { AppError } from '../errors.ts';
import type { Exchange } from './exchange.ts';

/** A file that is sent piece by piece. */
export interface SentFile {
  readonly name: string;
  readonly bytes: number;
  /** Reads the bytes from `start` to `end`, both included. */
  read(start: number, end: number): Readable;
}

/**
 * Sends a file as a download, at the client's pace. One range (RFC 9110, section 14) is honoured, so that a
 * download that broke off can go on.
 * @throws AppError `invalid` (416) for a range outside of the file.
 */
export async function sendFile(exchange: Exchange, file: SentFile): Promise<undefined> {
  const range = /^bytes=(\d*)-(\d*)$/.exec(exchange.header('range') ?? '');
  let start = 0;
  let end = file.bytes - 1;
  if (range !== null && (range[1] || range[2])) {
    start = range[1] ? Number(range[1]) : Math.max(0, file.bytes - Number(range[2]));
    end = range[1] && range[2] ? Math.min(end, Number(range[2])) : end;
    if (start > end) {
      throw new AppError(
        'invalid',
        `The file has ${file.bytes} bytes; the range ${range[0].slice(0, 100)} lies outside.`,
        {
          details: { status: 416 },
        },
      );
    }
  }
  const partial = range !== null && (range[1] || range[2]);
  const base = file.name.split('/').at(-1) as string;
  const body = exchange.stream(partial ? 206 : 200, {
    'content-type': 'application/octet-stream',
    'accept-ranges': 'bytes',
    'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(base)}`,
    ...(partial ? { 'content-range': `bytes ${start}-${end}/${file.bytes}` } : {}),
  });
  if (exchange.method !== 'HEAD' && file.bytes > 0) {
    for await (const chunk of file.read(start, end)) {
      if (!(await body.write(chunk as Buffer))) break;
    }
  }
  body.end();
  return undefined;
}
