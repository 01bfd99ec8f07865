/** A step for one token of a smaller model, in bytes, gains less from several threads than their synchronization costs. */
const smallModelBytes = 200 * 2 ** 20;
/** Tokens that are evaluated together cost less each: this many as much as one token alone. */
const tokensTogether = 4;

/** What decides the number of threads of an evaluation. */
interface Step {
  /** The size of the model file. */
  readonly bytes: number;
  /** How many tokens are evaluated together. */
  readonly tokens: number;
  /** Physical cores. */
  readonly cores: number;
  readonly trainingActive: boolean;
}

/**
 * How many threads evaluate a step: all physical cores, but one during a training and one for a step with little work.
 * llama.cpp's threads spin while they wait, so one busy core slows all of them down.
 */
export function threadsFor({ bytes, tokens, cores, trainingActive }: Step): number {
  const work = bytes * Math.max(1, tokens / tokensTogether);
  return trainingActive || work < smallModelBytes ? 1 : Math.max(1, cores);
}
