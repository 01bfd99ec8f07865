import { userPrompt } from '../../../domain/playground/playground.ts';
import type { Services } from '../../../domain/services.ts';
import { AppError } from '../../../errors.ts';
import { route } from '../../../http/route.ts';
import { errorBody, tag } from '../common.ts';
import { presentFigures } from './presenters.ts';
import * as s from './schemas.ts';

/** Answers of base models, what the models take in memory, and figures of all requests. */
export function playgroundRoutes({ checkpoints, machine, playground }: Services) {
  return [
    route({
      method: 'POST',
      path: '/api/playground/base',
      tag,
      summary: 'Generate text with the base model',
      body: s.generateBody,
      bodyExample: {
        model_id: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
        prompt: 'My parcel has not come.',
        max_length: 128,
        temperature: 0.7,
        top_p: 0.9,
      },
      responses: {
        200: { description: 'The generated text', schema: s.generated },
        400: { description: 'Invalid request', schema: errorBody },
        404: { description: 'Model not found', schema: errorBody },
      },
      handle: async ({ body, exchange }) => {
        const result = await playground.generate(
          {
            model: body.model_id,
            input: userPrompt(body.prompt),
            maxTokens: body.max_length,
            temperature: body.temperature,
            topP: body.top_p,
            caller: exchange.peer.address,
            asBase: true,
          },
          { signal: exchange.signal },
        );
        return {
          generated_text: result.text,
          prompt: body.prompt,
          tokens_generated: result.generatedTokens,
          generation_time_ms: Math.round(result.durationMs),
        };
      },
    }),
    route({
      method: 'GET',
      path: '/api/playground/memory',
      tag,
      summary: 'What each model takes in memory, before it is loaded, and what is free',
      responses: { 200: { description: 'Sizes in bytes', schema: s.memory } },
      handle: async () => {
        const [{ freeBytes, models }, { facts }] = await Promise.all([playground.memory(), machine()]);
        return {
          total_bytes: facts.ramTotalBytes,
          free_bytes: freeBytes === null ? null : Math.max(0, Math.floor(freeBytes)),
          models: models.map(({ model, base, isLoaded, needsBytes }) => ({
            id: model.id,
            model_id: model.modelId,
            name: model.name,
            base_model: model.baseModel,
            base,
            loaded: isLoaded,
            needs_bytes: needsBytes,
            fits: freeBytes === null || needsBytes === null || needsBytes <= freeBytes,
          })),
        };
      },
    }),
    route({
      method: 'GET',
      path: '/api/playground/figures',
      tag,
      summary:
        'Requests to models: running, waiting and ended, their tokens and speed, and memory of the models',
      responses: { 200: { description: 'The figures', schema: s.figures } },
      handle: () => ({ ...presentFigures(playground), preparing: checkpoints.preparation() }),
    }),
    route({
      method: 'DELETE',
      path: '/api/playground/preparing',
      tag,
      summary: 'Stop making the file of a base that several models share; they answer with their own files',
      responses: {
        200: { description: 'It is not made before the next start', schema: s.stopped },
        404: { description: 'None is being made', schema: errorBody },
      },
      handle: async () => {
        if (await checkpoints.stopSharing()) return { stopped: true };
        throw new AppError('not_found', 'No file of a base model is being made.');
      },
    }),
  ];
}
