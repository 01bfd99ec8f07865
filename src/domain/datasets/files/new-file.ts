import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { alignedMemory } from '../../../native/aligned-memory.ts';

/** A file that is written once, sequentially. */
export interface NewFile {
  /** Appends bytes; their memory may change after this resolves. */
  append(bytes: Uint8Array): Promise<void>;
  /** Resolves once everything is on disk; nothing may be appended afterwards. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** A large multiple of common block sizes, because the cost of a write hardly depends on its length. */
const blockBytes = 2 ** 21;
/** How much of a file that was not written to its end can be kept. */
export const continuableBytes = (bytes: number): number => bytes - (bytes % blockBytes);
/** The buffer of the last closed file, for reuse. */
let spare: Uint8Array | null = null;

/**
 * Creates a file, which must not exist yet, or continues one after `keptBytes`, which are whole blocks
 * (`continuableBytes`). Whole blocks bypass the page cache if the platform and file system support it
 * (open(2), O_DIRECT): in a virtual machine, the cache can cost more CPU time than the rest of an upload
 * (`bench/LOG.md`), and a large file would evict other programs' data.
 */
export async function createNewFile(path: string, keptBytes = 0): Promise<NewFile> {
  const file = await open(path, keptBytes === 0 ? 'wx' : 'r+');
  if (keptBytes > 0) await file.truncate(keptBytes);
  let direct = await openDirect(path);
  const block = spare ?? alignedMemory(blockBytes) ?? new Uint8Array(blockBytes);
  spare = null;
  let filledBytes = 0;
  let writtenBytes = keptBytes;

  async function writeBlock(): Promise<void> {
    const bytes = block.subarray(0, filledBytes);
    if (filledBytes < blockBytes || !(await writeDirectly(bytes))) await writeAll(file, bytes, writtenBytes);
    writtenBytes += filledBytes;
    filledBytes = 0;
  }

  /** Whether it worked. If not, for example with unaligned memory, the buffered path is used or reports the error. */
  async function writeDirectly(bytes: Uint8Array): Promise<boolean> {
    if (direct === null) return false;
    try {
      await writeAll(direct, bytes, writtenBytes);
      return true;
    } catch {
      await direct.close();
      direct = null;
      return false;
    }
  }

  return {
    async append(bytes) {
      for (let rest = bytes; rest.length > 0; ) {
        const fitting = rest.subarray(0, blockBytes - filledBytes);
        block.set(fitting, filledBytes);
        filledBytes += fitting.length;
        rest = rest.subarray(fitting.length);
        if (filledBytes === blockBytes) await writeBlock();
      }
    },
    async sync() {
      await writeBlock();
      await file.sync();
    },
    async close() {
      spare = block;
      await direct?.close();
      await file.close();
    },
  };
}

/** Opens a file for direct writes, or returns `null` if unsupported. */
async function openDirect(path: string): Promise<FileHandle | null> {
  // Only Linux has it, although Node's types always declare it.
  const flag = constants.O_DIRECT as number | undefined;
  if (flag === undefined) return null;
  return open(path, constants.O_WRONLY | flag).catch(() => null);
}

/** Writes all bytes at a position; a single `write` may write less. */
async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    at += (await file.write(bytes, at, bytes.length - at, position + at)).bytesWritten;
  }
}
