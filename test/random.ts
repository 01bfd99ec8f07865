/** Numbers from 0 to 1 that a seed repeats (Mulberry32 by Tommy Ettinger, public domain). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The seed of a test with random input: `npm run test:long -- --seed N` sets it. Tests print it in their title. */
export const seed = Number(process.env.HONE_SEED ?? Date.now() % 1e6);
