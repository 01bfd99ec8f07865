import { createReadStream } from 'node:fs';
import { mulberry32 } from './mulberry32.ts';

/** Which rows of a file a part has. */
export interface PartWanted {
  /** All rows of the file. */
  readonly rows: number;
  /** So many of them, drawn at random, are held out. */
  readonly heldOut: number;
  /** The same seed draws the same rows. */
  readonly seed: number;
  /** Whether the part has the rows that are held out, or the others. */
  readonly part: 'training' | 'validation';
  /** 1 for each row that is held out, if that is not to be drawn. */
  readonly drawn?: Uint8Array | null;
}

/** Bytes read at a time. */
const pieceBytes = 2 ** 18;
const lineEnd = Buffer.from('\n');

/**
 * The rows of one part of a JSONL file, as they are written there, in their order; in memory of one piece, however long
 * a row is. Each row is drawn with the share that is still wanted of those that are left, which gives the exact number
 * (Knuth, The Art of Computer Programming, volume 2, 3.4.2, algorithm S).
 */
export async function* datasetPart(path: string, wanted: PartWanted): AsyncGenerator<Buffer> {
  const random = mulberry32(wanted.seed);
  const drawn = wanted.drawn ?? null;
  let left = wanted.rows;
  let wantedLeft = wanted.heldOut;
  /** Whether the row that is being read belongs to the part; `null` between rows. */
  let isMine: boolean | null = null;
  for await (const piece of createReadStream(path, { highWaterMark: pieceBytes }) as AsyncIterable<Buffer>) {
    const mine: Buffer[] = [];
    for (let at = 0; at < piece.length; ) {
      if (isMine === null) {
        while (at < piece.length && (piece[at] as number) <= 0x20) at += 1;
        if (at === piece.length) break;
        const isHeldOut = drawn === null ? random() * left < wantedLeft : drawn[wanted.rows - left] === 1;
        left -= 1;
        if (isHeldOut) wantedLeft -= 1;
        isMine = isHeldOut === (wanted.part === 'validation');
      }
      const end = piece.indexOf(0x0a, at);
      const past = end < 0 ? piece.length : end + 1;
      if (isMine) mine.push(piece.subarray(at, past));
      if (end >= 0) isMine = null;
      at = past;
    }
    if (mine.length > 0) yield Buffer.concat(mine);
  }
  if (isMine) yield lineEnd;
}
