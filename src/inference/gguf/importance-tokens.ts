import { open } from 'node:fs/promises';
import { GgufReader, readValue } from './gguf-reader.ts';

/** The metadata of an importance matrix takes less. */
const headBytes = 1 << 16;

/**
 * Of how many tokens the importance matrix in a file is, by its metadata (llama.cpp's tools/imatrix/imatrix.cpp); `null` if
 * there is no such file, or it does not say.
 */
export async function importanceTokens(path: string): Promise<number | null> {
  const file = await open(path, 'r').catch(() => null);
  if (file === null) return null;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    const reader = new GgufReader(buffer.subarray(0, bytesRead));
    // The magic number, the version and the number of tensors.
    reader.skip(16);
    const entries = reader.u64();
    let tokens = 1;
    let found = 0;
    for (let i = 0; i < entries; i += 1) {
      const key = reader.string();
      const value = readValue(reader, reader.u32(), false);
      if ((key === 'imatrix.chunk_count' || key === 'imatrix.chunk_size') && typeof value === 'number') {
        tokens *= value;
        found += 1;
      }
    }
    return found === 2 ? tokens : null;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  } finally {
    await file.close();
  }
}
