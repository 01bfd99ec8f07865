import { checkRoom } from '../../machine/disk-room.ts';
import { createNewFile } from './new-file.ts';

/** The free space of the disk is checked for this many bytes ahead. */
const roomStepBytes = 2 ** 21;

/**
 * Writes a new file as its content arrives. @param path must not exist; on an error, the caller removes it.
 * @param keptBytes of an earlier attempt that are continued, as `createNewFile` does.
 * @throws AppError `disk_full`, and what `pieces` throws.
 */
export async function receiveFile(
  dir: string,
  path: string,
  pieces: AsyncIterable<Buffer> | Iterable<Buffer>,
  keptBytes = 0,
): Promise<void> {
  const file = await createNewFile(path, keptBytes);
  try {
    let roomBytes = 0;
    for await (const piece of pieces) {
      roomBytes -= piece.length;
      if (roomBytes < 0) {
        roomBytes = Math.max(roomStepBytes, piece.length);
        await checkRoom(dir, roomBytes);
      }
      await file.append(piece);
    }
    await file.sync();
  } finally {
    await file.close();
  }
}
