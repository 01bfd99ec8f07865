import { needsOf } from '../../inference/engine/memory-needs.ts';
import type { Model, Models } from '../models/models.ts';
import type { Source } from './mixture.ts';

/** A model, and what it takes in memory. */
export interface ModelMemory {
  readonly model: Model;
  /** Equal for models that can be blended and whose weights are in memory once; `null` if the base is not known. */
  readonly base: string | null;
  /** Whether the file that answers is in memory. */
  readonly isLoaded: boolean;
  /** Bytes that the next request to the model would load; `null` if its file cannot be read. */
  readonly needsBytes: number | null;
}

/** What each model takes in memory that llama.cpp runs, in the order of the list. */
export async function memoryOf(
  models: Models,
  sourceOf: (model: Model) => Promise<Source>,
  isLoaded: (key: string) => boolean,
): Promise<ModelMemory[]> {
  const found: ModelMemory[] = [];
  for (const model of models.list()) {
    if (models.fileOf(model, 'gguf') === null) continue;
    try {
      const { weights } = await sourceOf(model);
      if ('trained' in weights) continue;
      const { weights: bytes, context } = await needsOf(weights.gguf);
      const loaded = isLoaded(weights.gguf);
      found.push({ model, base: weights.base, isLoaded: loaded, needsBytes: loaded ? 0 : bytes + context });
    } catch {
      // A request to it says what is wrong.
      found.push({ model, base: null, isLoaded: false, needsBytes: null });
    }
  }
  return found;
}
