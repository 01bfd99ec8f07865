import * as v from 'valibot';
import type { Services } from '../../domain/services.ts';
import { route } from '../../http/route.ts';
import { tag } from './tag.ts';

const bytes = v.pipe(v.number(), v.integer(), v.minValue(0));
const memory = v.object({
  total_bytes: bytes,
  /** Free for models, if those that nobody uses are unloaded; `null` with a GPU. */
  free_bytes: v.nullable(bytes),
  /** Those that llama.cpp runs, newest first. */
  models: v.array(
    v.object({
      id: v.pipe(v.number(), v.integer()),
      model_id: v.string(),
      name: v.string(),
      base_model: v.string(),
      /** Equal for models that can be blended; `null` if the base is not known. */
      base: v.nullable(v.string()),
      loaded: v.boolean(),
      /** What the next request loads; `null` if the model's file cannot be read. */
      needs_bytes: v.nullable(bytes),
      fits: v.boolean(),
    }),
  ),
});

/** What the playground's models take in memory. */
export function playgroundRoutes({ machine, playground }: Services) {
  return [
    route({
      method: 'GET',
      path: '/api/playground/memory',
      tag,
      summary: 'What each model takes in memory, before it is loaded, and what is free',
      responses: { 200: { description: 'Sizes in bytes', schema: memory } },
      handle: async () => {
        const [{ freeBytes, models }, { facts }] = await Promise.all([playground.memory(), machine()]);
        return {
          total_bytes: facts.ramTotalBytes,
          free_bytes: freeBytes === null ? null : Math.max(0, Math.floor(freeBytes)),
          models: models.map(({ model, base, isLoaded, needsBytes }) => ({
            ...{ id: model.id, model_id: model.modelId, name: model.name, base_model: model.baseModel },
            ...{ base, loaded: isLoaded, needs_bytes: needsBytes },
            fits: freeBytes === null || needsBytes === null || needsBytes <= freeBytes,
          })),
        };
      },
    }),
  ];
}
