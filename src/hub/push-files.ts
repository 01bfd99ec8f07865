import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { PushState } from '../contract/frames.ts';
import type { HubAccess } from './access.ts';
import { DiskBlob } from './disk-blob.ts';
import { toPushFailure } from './hub-failure.ts';
import { createHubFetch } from './hub-fetch.ts';
import { hubLibrary } from './library.ts';
import { type RemoteFile, readRemoteFiles } from './push-repository.ts';

/** A file to push: its path in the repository and its content. */
export interface LocalFile {
  readonly path: string;
  readonly content: { readonly file: string } | { readonly text: string };
}

/** The progress of a push: its phase and the fraction of the bytes to upload. */
export interface PushProgress {
  readonly phase: Extract<PushState, 'comparing' | 'uploading' | 'committing'>;
  readonly fraction: number;
}

/**
 * Uploads the missing `files` in one commit, so that an incomplete model is never visible. Files that an earlier push left in
 * the hub's storage are recognized by their sha256 and skipped. (Xet storage is not used, because it does not find the chunks
 * of an interrupted push.)
 *
 * @returns the committed paths; empty if the repository was up to date.
 * @throws AppError from `toPushFailure`.
 */
export async function pushFiles(
  access: HubAccess,
  repository: string,
  files: readonly LocalFile[],
  options: { title: string; onProgress: (progress: PushProgress) => void },
): Promise<string[]> {
  options.onProgress({ phase: 'comparing', fraction: 0 });
  const remote = await readRemoteFiles(access, repository);
  const missing: { file: LocalFile; sizeBytes: number }[] = [];
  for (const file of files) {
    access.signal?.throwIfAborted();
    const sizeBytes = await sizeOf(file);
    const there = remote.get(file.path);
    if (there === undefined || !(await isSame(file, sizeBytes, there))) missing.push({ file, sizeBytes });
  }
  if (missing.length === 0) return [];

  const sent = new SentBytes(missing.map(({ file, sizeBytes }) => [file.path, sizeBytes]));
  const tell = (phase: PushProgress['phase']) => options.onProgress({ phase, fraction: sent.fraction() });
  try {
    const { commitIter } = await hubLibrary();
    const events = commitIter({
      repo: { type: 'model', name: repository },
      hubUrl: access.endpoint,
      title: options.title,
      useXet: false,
      // The library's types know no `undefined`.
      ...(access.signal ? { abortSignal: access.signal } : {}),
      operations: missing.map(({ file: { path, content }, sizeBytes }) => ({
        operation: 'addOrUpdate',
        path,
        content: 'text' in content ? new Blob([content.text]) : new DiskBlob(content.file, 0, sizeBytes),
      })),
      fetch: createHubFetch(access, `reached for the push to ${repository}`, {
        onSent(path, part, bytes) {
          sent.partSent(path, part, bytes);
          tell('uploading');
        },
      }),
    });
    for await (const event of events) {
      if (event.event === 'phase') {
        if (event.phase !== 'preuploading') {
          tell(event.phase === 'committing' ? 'committing' : 'uploading');
        }
      } else if (event.state === 'uploading' && event.progress === 1) {
        sent.fileSent(event.path);
        tell('uploading');
      }
    }
  } catch (error) {
    throw toPushFailure(access, `take the push to ${repository}`, error);
  }
  return missing.map(({ file }) => file.path);
}

async function sizeOf({ content }: LocalFile): Promise<number> {
  return 'text' in content ? Buffer.byteLength(content.text) : (await stat(content.file)).size;
}

async function isSame(file: LocalFile, sizeBytes: number, there: RemoteFile): Promise<boolean> {
  if (there.sizeBytes !== sizeBytes) return false;
  if (there.sha256 !== null) return (await digest(file, 'sha256')) === there.sha256;
  // Git's blob ID: the sha1 of a header and the bytes.
  return (await digest(file, 'sha1', `blob ${sizeBytes}\0`)) === there.blobId;
}

async function digest({ content }: LocalFile, algorithm: 'sha256' | 'sha1', header = ''): Promise<string> {
  const hash = createHash(algorithm).update(header);
  if ('text' in content) return hash.update(content.text).digest('hex');
  for await (const chunk of createReadStream(content.file, { highWaterMark: 2 ** 20 })) {
    hash.update(chunk as Buffer);
  }
  return hash.digest('hex');
}

/** Sums the bytes sent of several files and parts. */
class SentBytes {
  private readonly sizes: ReadonlyMap<string, number>;
  private readonly parts = new Map<string, Map<number, number>>();
  private readonly done = new Set<string>();

  constructor(sizes: readonly (readonly [string, number])[]) {
    this.sizes = new Map(sizes);
  }

  partSent(path: string, part: number, bytes: number): void {
    const parts = this.parts.get(path) ?? new Map<number, number>();
    this.parts.set(path, parts.set(part, bytes));
  }

  fileSent(path: string): void {
    this.done.add(path);
  }

  fraction(): number {
    let all = 0;
    let sent = 0;
    for (const [path, size] of this.sizes) {
      all += size;
      const parts = [...(this.parts.get(path)?.values() ?? [])].reduce((sum, bytes) => sum + bytes, 0);
      sent += this.done.has(path) ? size : Math.min(parts, size);
    }
    return all === 0 ? 1 : sent / all;
  }
}
