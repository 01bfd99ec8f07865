import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../../../errors.ts';
import type { HubAccess } from '../../../hub/access.ts';
import type { HubDatasetFile } from '../../../hub/dataset-files.ts';
import { hubFileBytes } from '../../../hub/download-file.ts';
import { downloadPrefix } from '../files/import-note.ts';
import { continuableBytes } from '../files/new-file.ts';
import { receiveFile } from '../files/receive-file.ts';

/**
 * The name of the folder for a download, equal for equal contents, so that a download can go on after the service has
 * ended; `null` if the hub does not tell what the files contain.
 */
export function downloadFolder(files: readonly HubDatasetFile[]): string | null {
  const contents = files.map(({ sha256 }) => sha256);
  if (contents.includes(null)) return null;
  return downloadPrefix + createHash('sha256').update(contents.join()).digest('hex').slice(0, 32);
}

export const pathsIn = (folder: string, files: readonly HubDatasetFile[]) =>
  files.map((_, place) => join(folder, `${String(place).padStart(5, '0')}.parquet`));

/** What an earlier download left of each file, in bytes. */
export const keptBytes = (files: readonly HubDatasetFile[], paths: readonly string[]): Promise<number[]> =>
  Promise.all(
    files.map(async ({ sizeBytes }, place) => {
      const { size } = await stat(paths[place] as string).catch(() => ({ size: 0 }));
      if (size >= sizeBytes) return size === sizeBytes ? size : 0;
      return continuableBytes(size);
    }),
  );

/**
 * Downloads the files, each from where an earlier download has ended.
 * @param onBytes is called with bytes that are here.
 * @throws AppError as `hubFileBytes` and `receiveFile`; `upstream` for a file that is not the hub's.
 */
export async function downloadFiles(
  hub: HubAccess,
  wanted: {
    readonly repo: string;
    readonly files: readonly HubDatasetFile[];
    /** Of each file, in one folder. */
    readonly paths: readonly string[];
    readonly signal: AbortSignal;
  },
  onBytes: (bytes: number) => void,
): Promise<void> {
  const { repo, files, paths, signal } = wanted;
  const kept = await keptBytes(files, paths);
  for (const [place, file] of files.entries()) {
    const path = paths[place] as string;
    const from = kept[place] as number;
    onBytes(from);
    if (from === 0) await rm(path, { force: true });
    if (from < file.sizeBytes) {
      const pieces = counted(hubFileBytes(hub, repo, file, signal, from), onBytes);
      await receiveFile(dirname(path), path, pieces, from);
    }
    // What was there may have been damaged with the machine.
    if (from > 0 && (await sha256Of(path, signal)) !== file.sha256) {
      await rm(path, { force: true });
      throw new AppError(
        'upstream',
        `${file.path} is not what the hub has: an earlier download of it was damaged, and is now deleted. Import the dataset again.`,
      );
    }
  }
}

async function* counted(pieces: AsyncIterable<Buffer>, onBytes: (bytes: number) => void) {
  for await (const piece of pieces) {
    onBytes(piece.length);
    yield piece;
  }
}

async function sha256Of(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 2 ** 20 }), hash, { signal });
  return hash.digest('hex');
}
