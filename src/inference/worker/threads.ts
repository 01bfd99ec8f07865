/** A step for one token of a smaller model, in bytes, gains less from several threads than their synchronization costs. */
const smallModelBytes = 200 * 2 ** 20;
/** Tokens that are evaluated together cost less each: this many as much as one token alone. */
const tokensTogether = 4;

/** What decides the number of threads. */
interface Step {
  /** The size of the model file. */
  readonly bytes: number;
  /** How many tokens are evaluated together. */
  readonly tokens: number;
  /** How many contexts are evaluated at the same time and divide the threads; 1 if absent. */
  readonly contexts?: number;
  /** Physical cores. */
  readonly cores: number;
  readonly trainingActive: boolean;
  /** Whether other processes use the cores (contention.ts). */
  readonly isContended?: boolean;
}

/**
 * How many threads evaluate at a time: all physical cores, but one during a training, and one for a single context whose
 * step has little work, or beside busy processes. llama.cpp's threads spin while they wait, so one busy core slows all of
 * them down.
 */
export function threadsFor({
  bytes,
  tokens,
  contexts = 1,
  cores,
  trainingActive,
  isContended,
}: Step): number {
  const isSmall = bytes * Math.max(1, tokens / tokensTogether) < smallModelBytes;
  return trainingActive || (contexts === 1 && (isSmall || isContended)) ? 1 : Math.max(1, cores);
}
