import type { PlaygroundRequest } from '../../domain/playground/playground.ts';
import type { Services } from '../../domain/services.ts';
import { type Face, type ResponseDoc, route, withExamples } from '../../http/route.ts';
import { chatSpelling, complete, textSpelling } from './completions.ts';
import { presentError } from './errors.ts';
import { fileRoutes } from './files.ts';
import { fineTuningRoutes } from './jobs.ts';
import { modelRoutes } from './models.ts';
import { examples } from './openapi-examples.ts';
import * as s from './schemas.ts';

const tag = 'openai';
const refused: ResponseDoc = {
  description: 'Invalid request, or the checkpoint cannot answer',
  schema: s.error,
};
const noModel: ResponseDoc = { description: 'Model not found', schema: s.error };
/** OpenAI's defaults, except for the length, where OpenAI's is the whole context. */
const defaults = { maxTokens: 1024, temperature: 1, topP: 1 };

/** `/v1`: the OpenAI-compatible API. A model is named by its name or either id. */
export function createOpenAiFace(services: Services) {
  const { modelReferences, playground } = services;
  /** A checkpoint is also found by its own name, and by that of its job, which may have no model yet. */
  const modelOf = ({ model, checkpoint }: { model: string; checkpoint?: number | null | undefined }) =>
    checkpoint == null ? modelReferences.resolve(model) : { model };
  const options = (
    body: {
      max_tokens?: number | null | undefined;
      temperature?: number | null | undefined;
      top_p?: number | null | undefined;
      seed?: number | null | undefined;
      stop?: string | string[] | null | undefined;
      checkpoint?: number | null | undefined;
    },
    maxTokens: number | null | undefined,
  ): Omit<PlaygroundRequest, 'model' | 'input'> => ({
    maxTokens: maxTokens ?? body.max_tokens ?? defaults.maxTokens,
    temperature: body.temperature ?? defaults.temperature,
    topP: body.top_p ?? defaults.topP,
    ...(body.seed == null ? {} : { seed: body.seed }),
    ...(body.stop == null ? {} : { stop: [body.stop].flat() }),
    ...(body.checkpoint == null ? {} : { checkpoint: body.checkpoint }),
  });
  const streaming = (body: {
    stream?: boolean | null | undefined;
    stream_options?: { include_usage?: boolean | null | undefined } | null | undefined;
  }) => (body.stream ? { includeUsage: body.stream_options?.include_usage ?? false } : null);

  const routes = [
    route({
      method: 'POST',
      path: '/v1/chat/completions',
      tag,
      access: 'inference',
      summary: 'Create a chat completion, optionally streamed',
      body: s.chatBody,
      bodyExample: {
        model: 'name-or-id',
        messages: [{ role: 'user', content: 'My parcel has not come.' }],
        max_tokens: 128,
      },
      responses: {
        200: {
          description: 'The completion',
          schema: s.chatCompletion,
          alternativeContentType: 'text/event-stream',
          eventSchema: s.chatEvent,
        },
        400: refused,
        404: noModel,
      },
      handle: ({ body, exchange }) => {
        const messages = body.messages.map(({ role, content }) => ({
          role: role === 'developer' ? 'system' : role,
          content: typeof content === 'string' ? content : content.map(({ text }) => text).join(''),
        }));
        const request = {
          input: { kind: 'messages' as const, messages },
          ...options(body, body.max_completion_tokens),
          ...modelOf(body),
          ...(body.as_base ? { asBase: true } : {}),
        };
        return complete(playground, exchange, request, body.model, chatSpelling, streaming(body));
      },
    }),
    route({
      method: 'POST',
      path: '/v1/completions',
      tag,
      access: 'inference',
      summary: 'Create a text completion, optionally streamed',
      body: s.completionBody,
      bodyExample: { model: 'name-or-id', prompt: 'Once upon a time', max_tokens: 128 },
      responses: {
        200: {
          description: 'The generated text',
          schema: s.completion,
          alternativeContentType: 'text/event-stream',
        },
        400: refused,
        404: noModel,
      },
      handle: ({ body, exchange }) => {
        const text = [body.prompt].flat()[0] as string;
        const request = {
          input: { kind: 'text' as const, text },
          ...options(body, null),
          ...modelOf(body),
        };
        return complete(playground, exchange, request, body.model, textSpelling, streaming(body));
      },
    }),
  ];
  return {
    name: 'openai',
    routes: withExamples(
      [...modelRoutes(services), ...routes, ...fileRoutes(services), ...fineTuningRoutes(services)],
      examples,
    ),
    presentError,
    error: s.error,
  } satisfies Face;
}
