/** For models below this size, in bytes, synchronization between threads costs more than they gain. */
const smallModelBytes = 200 * 2 ** 20;

/**
 * How many threads evaluate a model: all physical cores, but one during a training and one for a small model.
 * llama.cpp's threads spin while they wait, so one busy core slows all of them down.
 */
export function threadsFor(model: { bytes: number; cores: number; trainingActive: boolean }): number {
  return model.trainingActive || model.bytes < smallModelBytes ? 1 : Math.max(1, model.cores);
}
