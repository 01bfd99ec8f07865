import { loadAddon } from './addon.ts';

/** Uninitialized memory aligned to 4096 bytes; `null` without the addon. */
export const alignedMemory = (bytes: number): Uint8Array | null =>
  loadAddon().addon?.alignedMemory(bytes) ?? null;
