import { MIMEType } from 'node:util';
import busboy from 'busboy';
import { AppError, asAppError } from '../errors.ts';
import type { Exchange } from './exchange.ts';

/** A file of a form as it arrives. A chunk is valid until the next one is requested. */
export interface FilePart {
  readonly filename: string;
  readonly content: AsyncIterable<Buffer>;
  /** The form's other fields; those behind the file are known once its content has been read. */
  readonly fields: () => Readonly<Record<string, string>>;
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
    const { filename, at, start } = findFile(first, delimiter, contentType, name);
    const before = Buffer.from(first.subarray(0, at));
    let after: Buffer | null = null;
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
      content: counted(
        untilDelimiter(first.subarray(start), pieces, delimiter, (end) => {
          after = end;
        }),
      ),
      fields: () => readFields(before, after, delimiter, contentType),
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

/** Finds the part `name` that is a file in the beginning of a form: its name, and where it and its content start. */
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
    if (file?.field === name) return { filename: file.filename, at, start };
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

/**
 * The fields of a form around its file.
 * @param before the form up to the file's boundary.
 * @param after what follows the boundary after the file; `null` if it has not come yet.
 */
function readFields(
  before: Buffer,
  after: Buffer | null,
  delimiter: Buffer,
  contentType: string,
): Record<string, string> {
  const fields: Record<string, string> = Object.create(null);
  const parser = busboy({ headers: { 'content-type': contentType }, defParamCharset: 'utf8' });
  parser.on('field', (name, value) => {
    fields[name] = value;
  });
  parser.on('file', (_name, content) => content.resume());
  parser.on('error', () => undefined);
  const opening = delimiter.subarray(2);
  const from = before.indexOf(opening);
  parser.end(
    Buffer.concat([from < 0 ? before.subarray(0, 0) : before.subarray(from), opening, after ?? closing]),
  );
  return fields;
}

/** The bytes before the delimiter, which may span chunks; then tells `onEnd` what follows it. */
async function* untilDelimiter(
  first: Buffer,
  pieces: AsyncGenerator<Buffer>,
  delimiter: Buffer,
  onEnd: (rest: Buffer) => void,
): AsyncGenerator<Buffer> {
  let bytes = first;
  while (true) {
    const at = bytes.indexOf(delimiter);
    if (at >= 0) {
      const rest = Buffer.from(bytes.subarray(at + delimiter.length));
      yield bytes.subarray(0, at);
      onEnd(await readEnd(rest, pieces, delimiter));
      return;
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
async function readEnd(rest: Buffer, pieces: AsyncGenerator<Buffer>, delimiter: Buffer): Promise<Buffer> {
  const parts = [rest];
  let bytes = rest.length;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > overheadBytes) throw invalid(`more than ${overheadBytes} bytes follow the file`);
    parts.push(Buffer.from(piece));
  }
  const end = Buffer.concat(parts);
  if (!Buffer.concat([delimiter, end]).includes(Buffer.concat([delimiter, closing]))) throw cutShort();
  return end;
}
