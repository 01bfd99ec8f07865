import { createReadStream } from 'node:fs';

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
        const isHeldOut = random() * left < wantedLeft;
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

/** Numbers from 0 to less than 1, the same for the same seed (Tommy Ettinger's Mulberry32, public domain). */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
