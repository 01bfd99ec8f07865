import type { Engine, GenerateRequest, GenerateResult } from './engine.ts';
import type { TrainedEngine, TrainedRequest } from './trained-engine.ts';

/** Everything that runs models; the request says which engine its model needs. */
export interface Engines extends Omit<Engine, 'generate'> {
  /** @throws AppError as `Engine.generate` does. */
  generate(
    request: GenerateRequest | TrainedRequest,
    options?: Parameters<Engine['generate']>[1],
  ): Promise<GenerateResult>;
}

/** llama.cpp for models with a GGUF, and the trainer package for all others. */
export function createEngines(gguf: Engine, trained: TrainedEngine): Engines {
  const both = [gguf, trained];
  return {
    ...gguf,
    generate: (request, options) =>
      'trained' in request ? trained.generate(request, options) : gguf.generate(request, options),
    isLoaded: (modelKey) => both.some((engine) => engine.isLoaded(modelKey)),
    processes: () => both.flatMap((engine) => engine.processes()),
    async unload(modelKey) {
      await Promise.all(both.map((engine) => engine.unload(modelKey)));
    },
    setTrainingActive(active) {
      for (const engine of both) engine.setTrainingActive(active);
    },
    async close() {
      await Promise.all(both.map((engine) => engine.close()));
    },
  };
}
