import { userPrompt } from '../../domain/playground/playground.ts';
import type { Services } from '../../domain/services.ts';
import { route } from '../../http/route.ts';
import { modelIdExample, noModel, refused, tag } from './documented.ts';
import * as s from './schemas.ts';

/** Generated text, and the file that it comes from. */
export function playgroundRoutes({ playground }: Services) {
  return [
    route({
      method: 'GET',
      path: '/api/playground/model_path',
      tag,
      summary: 'Path of the file that is used for inference',
      query: s.modelPathQuery,
      responses: { 200: { description: 'The path', schema: s.modelPath }, 400: refused, 404: noModel },
      handle: async ({ query }) => {
        const { model, path } = await playground.modelFile(query.model_id);
        return { model_path: path, model_id: model.modelId };
      },
    }),
    route({
      method: 'POST',
      path: '/api/playground/new',
      tag,
      summary: 'Generate text with a model',
      body: s.generateBody,
      bodyExample: {
        model_id: modelIdExample,
        prompt: 'My parcel has not come.',
        max_length: 128,
        temperature: 0.7,
        top_p: 0.9,
      },
      responses: {
        200: { description: 'The generated text', schema: s.generated },
        400: refused,
        404: noModel,
        409: { description: 'The checkpoint cannot answer', schema: s.error },
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
            checkpoint: body.checkpoint,
            scale: body.scale,
            blend: body.blend,
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
  ];
}
