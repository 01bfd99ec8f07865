import { createReadStream } from 'node:fs';

const pieceBytes = 2 ** 20;

/**
 * The bytes of a file, in pieces. It is opened when the first piece is read: a stream that nobody reads yet, of a file
 * that is gone, would end the process by its error.
 */
export async function* filePieces(path: string): AsyncGenerator<Buffer> {
  yield* createReadStream(path, { highWaterMark: pieceBytes });
}
