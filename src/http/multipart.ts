import { MIMEType } from 'node:util';
import busboy from 'busboy';
import { AppError, asAppError } from '../errors.ts';
import type { Exchange } from './exchange.ts';

/** A file of a form as it arrives. A chunk is valid until the next one is requested. */
export interface FilePart {
  readonly filename: string;
  readonly content: AsyncIterable<Buffer>;
}

/** Room for the form's boundaries, headers and small fields around the file. */
const overheadBytes = 2 ** 16;
/** The form is read in pieces of this size: the file's header must be in the first. */
const pieceBytes = 2 ** 19;
const blankLine = '\r\n\r\n';
/** Follows the boundary that ends the form. */
const closing = Buffer.from('--');

/**
 * Hands the file part `name` of a multipart request (RFC 7578) to `use` while it arrives, in bounded memory. Only
 * the search for the boundary is ours, because a file of hundreds of megabytes passes through it: the part's header
 * is read by busboy.
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
  const pieces = exchange.bodyPieces(limitBytes + overheadBytes, pieceBytes);
  const contentType = exchange.header('content-type') ?? '';
  if (!/^multipart\/form-data\s*;/i.test(contentType)) {
    throw new AppError(
      'invalid',
      `Send the file as multipart/form-data with a part "${name}", not as ${contentType.slice(0, 100) || 'an untyped body'}.`,
    );
  }
  try {
    const delimiter = delimiterOf(contentType);
    const first = (await pieces.next()).value ?? Buffer.alloc(0);
    const { filename, start } = findFile(first, delimiter, contentType, name);
    let bytes = 0;
    async function* counted(content: AsyncIterable<Buffer>) {
      for await (const piece of content) {
        bytes += piece.length;
        if (bytes >= limitBytes) throw tooLarge();
        yield piece;
      }
    }
    return await use({
      filename,
      content: counted(untilDelimiter(first.subarray(start), pieces, delimiter)),
    });
  } catch (error) {
    if (error instanceof AppError && error.kind === 'too_large') throw tooLarge();
    throw asAppError(error);
  }
}

const cutShort = () => invalid('it ends before its last boundary');
const invalid = (what: string, cause?: unknown) =>
  new AppError('invalid', `Could not parse the form: ${what}.`, { cause });

/** The line break and boundary that end each part (RFC 2046, section 5.1.1). */
function delimiterOf(contentType: string): Buffer {
  let boundary: string | null;
  try {
    boundary = new MIMEType(contentType).params.get('boundary');
  } catch (error) {
    throw invalid('its Content-Type is malformed', error);
  }
  if (!boundary || boundary.length > 70)
    throw invalid('its Content-Type names no boundary of 1 to 70 characters');
  return Buffer.from(`\r\n--${boundary}`, 'latin1');
}

/** Finds the part `name` that is a file in the beginning of a form: its name, and where its content starts. */
function findFile(form: Buffer, delimiter: Buffer, contentType: string, name: string) {
  const opening = delimiter.subarray(2);
  let at = form.indexOf(opening);
  if (at < 0) throw invalid('it does not begin with its boundary');
  while (at >= 0) {
    const from = at + opening.length;
    const end = form.indexOf(blankLine, from);
    if (end < 0 || form.subarray(from, from + 2).equals(closing)) break;
    const start = end + blankLine.length;
    const file = readHeader(form.subarray(from, start), delimiter, contentType);
    if (file?.field === name) return { filename: file.filename, start };
    at = form.indexOf(delimiter, start);
    if (at >= 0) at += 2;
  }
  throw new AppError('invalid', `The form has no file part "${name}".`);
}

/** What a part's header says of a file, or null where it is a field's or none at all. */
function readHeader(header: Buffer, delimiter: Buffer, contentType: string) {
  const files: { field: string; filename: string }[] = [];
  const parser = busboy({ headers: { 'content-type': contentType }, defParamCharset: 'utf8' });
  parser.on('file', (field, content, { filename }) => {
    content.resume();
    files.push({ field, filename: filename ?? '' });
  });
  parser.on('error', () => undefined);
  parser.end(Buffer.concat([delimiter.subarray(2), header, delimiter, closing]));
  return files[0] ?? null;
}

/** The bytes before the delimiter, which may span chunks. */
async function* untilDelimiter(
  first: Buffer,
  pieces: AsyncGenerator<Buffer>,
  delimiter: Buffer,
): AsyncGenerator<Buffer> {
  let bytes = first;
  while (true) {
    const at = bytes.indexOf(delimiter);
    if (at >= 0) {
      const rest = Buffer.from(bytes.subarray(at + delimiter.length));
      yield bytes.subarray(0, at);
      return await readEnd(rest, pieces, delimiter);
    }
    // Keeps a possible start of the delimiter for the next chunk; a boundary contains no line break.
    const end = bytes.subarray(1 - delimiter.length);
    const lineBreak = end.lastIndexOf('\r');
    const kept = Buffer.from(lineBreak < 0 ? '' : end.subarray(lineBreak));
    yield bytes.subarray(0, bytes.length - kept.length);
    const next = await pieces.next();
    if (next.done) throw cutShort();
    bytes = kept.length === 0 ? next.value : Buffer.concat([kept, next.value]);
  }
}

/** Reads what follows the file: the form's end, or small fields before it. */
async function readEnd(rest: Buffer, pieces: AsyncGenerator<Buffer>, delimiter: Buffer): Promise<void> {
  const parts = [delimiter, rest];
  let bytes = rest.length;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > overheadBytes) throw invalid(`more than ${overheadBytes} bytes follow the file`);
    parts.push(Buffer.from(piece));
  }
  if (!Buffer.concat(parts).includes(Buffer.concat([delimiter, closing]))) throw cutShort();
}
