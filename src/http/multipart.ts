import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import busboy from 'busboy';
import { AppError, asAppError } from '../errors.ts';
import type { Exchange } from './exchange.ts';

/** A file of a form as it arrives. */
export interface FilePart {
  readonly filename: string;
  readonly content: AsyncIterable<Buffer>;
}

/** Room for the form's boundaries, headers and small fields around the file. */
const overheadBytes = 2 ** 16;

/**
 * Hands the file part `name` of a multipart request to `use` while it arrives, in bounded memory.
 * @throws AppError `invalid` for a body that is no such form, `too_large` for a file of `limitBytes` or more.
 */
export async function withFilePart<T>(
  exchange: Exchange,
  name: string,
  limitBytes: number,
  use: (part: FilePart) => Promise<T>,
): Promise<T> {
  const tooLarge = () =>
    new AppError('too_large', `The file is larger than the limit of ${limitBytes / 2 ** 20} MiB.`, {
      details: { limitBytes },
    });
  const body = exchange.bodyChunks(limitBytes + overheadBytes);
  const contentType = exchange.header('content-type') ?? '';
  if (!/^multipart\/form-data\s*;/i.test(contentType)) {
    throw new AppError(
      'invalid',
      `Send the file as multipart/form-data with a part "${name}", not as ${contentType.slice(0, 100) || 'an untyped body'}.`,
    );
  }
  let parser: busboy.Busboy;
  try {
    parser = busboy({
      headers: { 'content-type': contentType },
      defParamCharset: 'utf8',
      limits: { fileSize: limitBytes, files: 1, fields: 16, fieldSize: 4096, parts: 20, headerPairs: 32 },
    });
  } catch (error) {
    throw new AppError('invalid', `The form cannot be read: ${(error as Error).message}.`, { cause: error });
  }
  const part = new Promise<FilePart | null>((resolve) => {
    parser.once('file', (field, stream, info) => {
      stream.once('limit', () => {
        stream.destroy(tooLarge());
      });
      // Errors reach whoever iterates; without one, they must not end the process.
      stream.on('error', () => undefined);
      if (field === name)
        resolve({ filename: info.filename ?? '', content: stream as AsyncIterable<Buffer> });
      else stream.resume();
    });
    parser.once('close', () => resolve(null));
  });
  const pumped = pipeline(Readable.from(body, { objectMode: true, highWaterMark: 1 }), parser).then(
    () => null,
    (error: unknown) =>
      error instanceof AppError
        ? error
        : new AppError('invalid', `The form cannot be read: ${(error as Error).message}.`, { cause: error }),
  );
  try {
    const found = await part;
    if (found === null) {
      throw (await pumped) ?? new AppError('invalid', `The form has no file part "${name}".`);
    }
    const result = await use({ filename: found.filename, content: wholeForm(found.content, pumped) });
    return result;
  } catch (error) {
    if (!parser.destroyed) parser.destroy();
    if (error instanceof AppError) throw error.kind === 'too_large' ? tooLarge() : error;
    // The file's stream only says that it broke off; the pump says why.
    const cause = await pumped;
    throw cause !== null && (error as NodeJS.ErrnoException).syscall === undefined
      ? cause
      : asAppError(error);
  }
}

/** The file's content, which ends well only with the form around it: a form that is cut short has no file. */
async function* wholeForm(
  content: AsyncIterable<Buffer>,
  pumped: Promise<AppError | null>,
): AsyncGenerator<Buffer> {
  yield* content;
  const error = await pumped;
  if (error !== null) throw error;
}
