import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { alignedMemory } from '../hardware/aligned-memory.ts';

/** A file that is written once, from its beginning to its end. */
export interface NewFile {
  /** Adds bytes; their memory may change as soon as this has resolved. */
  append(bytes: Uint8Array): Promise<void>;
  /** Resolves once everything is on the disk; nothing may be added after it. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** A multiple of every file system's block size, and large: what a write costs hardly grows with its length. */
const blockBytes = 2 ** 21;
/** The memory of a file that is closed, for the next one. */
let spare: Uint8Array | null = null;

/**
 * Creates a file, which must not exist yet. Whole blocks of it are written past the system's page cache where the
 * platform and the file system can (open(2), O_DIRECT): in a virtual machine the cache may cost more processor time
 * than all else that is done with an upload (`bench/README.md`), and a large file would take the place of what other
 * programs have in it.
 */
export async function createNewFile(path: string): Promise<NewFile> {
  const file = await open(path, 'wx');
  let direct = await openDirect(path);
  const block = spare ?? alignedMemory(blockBytes) ?? new Uint8Array(blockBytes);
  spare = null;
  let filledBytes = 0;
  let writtenBytes = 0;

  async function writeBlock(): Promise<void> {
    const bytes = block.subarray(0, filledBytes);
    if (filledBytes < blockBytes || !(await writeDirectly(bytes))) await writeAll(file, bytes, writtenBytes);
    writtenBytes += filledBytes;
    filledBytes = 0;
  }

  /** Whether it was possible. Where not, as with memory that is not aligned, the other way does it or says why. */
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

/** Opens a file to write past the page cache, or gives `null` where that is not to be had. */
async function openDirect(path: string): Promise<FileHandle | null> {
  // Only Linux has it; Node's types claim it everywhere.
  const flag = constants.O_DIRECT as number | undefined;
  if (flag === undefined) return null;
  return open(path, constants.O_WRONLY | flag).catch(() => null);
}

/** Writes all bytes at a position of a file: one `write` may take less, on a disk that is nearly full. */
async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    at += (await file.write(bytes, at, bytes.length - at, position + at)).bytesWritten;
  }
}
