import { createReadStream } from 'node:fs';

/** A line of a file without its end; `isCut` if it is longer than was asked for, and only begins with `text`. */
export interface Line {
  readonly text: string;
  readonly isCut: boolean;
  /** All of its bytes in the file, without its end. */
  readonly bytes: number;
}

const blank = /^[ \t\r]*$/;
/** Whether a line is no row. */
export const isBlank = ({ text, isCut }: Line): boolean => !isCut && blank.test(text);

/** Bytes read at a time. */
const pieceBytes = 2 ** 18;

/** The lines of a file, in memory bounded by `maximumBytes` of a line. */
export async function* readLines(path: string, maximumBytes: number): AsyncGenerator<Line> {
  for await (const lines of readLineGroups(path, maximumBytes)) yield* lines;
}

/**
 * The lines of a file from the byte `start`, where a line must begin: those that end in a piece together, which takes
 * less time than one by one.
 */
export async function* readLineGroups(
  path: string,
  maximumBytes: number,
  start = 0,
): AsyncGenerator<readonly Line[]> {
  let pending: Buffer[] = [];
  let keptBytes = 0;
  let lineBytes = 0;
  const keep = (bytes: Buffer) => {
    lineBytes += bytes.length;
    const fitting = bytes.subarray(0, maximumBytes - keptBytes);
    if (fitting.length === 0) return;
    pending.push(fitting);
    keptBytes += fitting.length;
  };
  const take = (): Line => {
    const bytes = pending.length === 1 ? (pending[0] as Buffer) : Buffer.concat(pending);
    const line = { text: bytes.toString('utf8'), isCut: lineBytes > keptBytes, bytes: lineBytes };
    pending = [];
    keptBytes = 0;
    lineBytes = 0;
    return line;
  };
  const pieces: AsyncIterable<Buffer> = createReadStream(path, { highWaterMark: pieceBytes, start });
  for await (const chunk of pieces) {
    const lines: Line[] = [];
    let from = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, from)) {
      keep(chunk.subarray(from, end));
      from = end + 1;
      lines.push(take());
    }
    keep(chunk.subarray(from));
    if (lines.length > 0) yield lines;
  }
  if (lineBytes > 0) yield [take()];
}
