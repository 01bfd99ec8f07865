/** Below this size, in bytes, threads wait for each other longer than they compute. */
const smallModelBytes = 200 * 2 ** 20;

/**
 * How many threads evaluate a model: all physical cores, one beside a training and one for a small model.
 * llama.cpp's threads spin while they wait; a busy neighbour on one core then stops them all.
 */
export function threadsFor(model: { bytes: number; cores: number; trainingActive: boolean }): number {
  return model.trainingActive || model.bytes < smallModelBytes ? 1 : Math.max(1, model.cores);
}
