import { createReadStream } from 'node:fs';

/** A line of a file without its end; `isCut` if it is longer than was asked for, and only begins with `text`. */
export interface Line {
  readonly text: string;
  readonly isCut: boolean;
}

/** Bytes read at a time. */
const pieceBytes = 2 ** 18;

/** The lines of a file, in memory bounded by `maximumBytes` of a line. */
export async function* readLines(path: string, maximumBytes: number): AsyncGenerator<Line> {
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
    const line = { text: Buffer.concat(pending).toString('utf8'), isCut: lineBytes > keptBytes };
    pending = [];
    keptBytes = 0;
    lineBytes = 0;
    return line;
  };
  for await (const chunk of createReadStream(path, { highWaterMark: pieceBytes }) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      keep(chunk.subarray(start, end));
      start = end + 1;
      yield take();
    }
    keep(chunk.subarray(start));
  }
  if (lineBytes > 0) yield take();
}
