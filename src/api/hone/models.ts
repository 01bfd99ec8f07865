import { listFiles, openFile } from '../../domain/downloads.ts';
import { userPrompt } from '../../domain/playground.ts';
import type { Services } from '../../domain/services.ts';
import { sendFile } from '../../http/file-reply.ts';
import { type ResponseDoc, route } from '../../http/route.ts';
import { presentLineage } from './presenters.ts';
import * as s from './schemas.ts';
import { tag } from './tag.ts';

const noModel: ResponseDoc = { description: 'There is no such model or file', schema: s.error };
const refused: ResponseDoc = { description: 'The request is not valid', schema: s.error };

/** What a model was made of, its files, further types of it, and the answers of its base. */
export function modelRoutes({ hubPush, models, playground, quantizer }: Services) {
  return [
    route({
      method: 'POST',
      path: '/api/models/{model_id}/quantize',
      tag,
      summary: 'Make another type of the GGUF file; progress and end come as export frames',
      body: s.quantizeBody,
      bodyExample: { type: 'Q4_K_M' },
      responses: {
        200: { description: 'The work has started', schema: s.told },
        400: refused,
        404: noModel,
        409: { description: 'The type is there, or another is being made', schema: s.error },
      },
      handle: async ({ params, body }) => {
        const model = await quantizer.start(params.model_id, body.type);
        return { status: 'started', message: `The type ${body.type} of ${model.name} is being made` };
      },
    }),
    route({
      method: 'POST',
      path: '/api/models/{model_id}/push/cancel',
      tag,
      summary: 'Give up a push to the hub; the next one sends only what is missing',
      responses: {
        200: { description: 'The push has ended', schema: s.told },
        404: noModel,
        409: { description: 'The model is not being pushed', schema: s.error },
      },
      handle: async ({ params }) => {
        const { repository, cancelled } = await hubPush.cancel(params.model_id);
        return cancelled
          ? { status: 'cancelled', message: `The push to ${repository} has been cancelled` }
          : { status: 'ended', message: `The push to ${repository} had already ended` };
      },
    }),
    route({
      method: 'GET',
      path: '/api/models/{model_id}/files',
      tag,
      summary: 'The files of a model',
      responses: { 200: { description: 'Names and sizes', schema: s.files }, 404: noModel },
      handle: async ({ params }) => ({ files: await listFiles(models.find(params.model_id)) }),
    }),
    route({
      method: 'GET',
      path: '/api/models/{model_id}/files/{name}',
      tag,
      summary: 'Download a file of a model (slashes in its name as %2F)',
      responses: { 200: { description: 'The file', contentType: 'application/octet-stream' }, 404: noModel },
      handle: async ({ params, exchange }) =>
        sendFile(exchange, await openFile(models.find(params.model_id), params.name)),
    }),
    route({
      method: 'GET',
      path: '/api/models/{model_id}/lineage',
      tag,
      summary: 'What a model was made of: base, dataset, settings, metrics, verification and files',
      responses: { 200: { description: 'The lineage', schema: s.lineage }, 404: noModel },
      handle: async ({ params }) => {
        const model = models.find(params.model_id);
        const [files, chatTemplate] = await Promise.all([listFiles(model), models.hasChatTemplate(model)]);
        return presentLineage(model, files, chatTemplate);
      },
    }),
    route({
      method: 'POST',
      path: '/api/playground/base',
      tag,
      summary: 'Generate text as the model did before it was trained',
      body: s.generateBody,
      bodyExample: {
        model_id: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
        prompt: 'My parcel has not come.',
        max_length: 128,
        temperature: 0.7,
        top_p: 0.9,
      },
      responses: {
        200: { description: 'The text', schema: s.generated },
        400: { description: 'The request is not valid', schema: s.error },
        404: { description: 'There is no such model', schema: s.error },
      },
      handle: async ({ body, exchange }) => {
        const result = await playground.generate(
          {
            model: body.model_id,
            input: userPrompt(body.prompt),
            maxTokens: body.max_length,
            temperature: body.temperature,
            topP: body.top_p,
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
  ];
}
