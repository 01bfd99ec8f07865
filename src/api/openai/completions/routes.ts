import { referenceKey } from '../../../domain/fine-tuning/model-references.ts';
import type { Services } from '../../../domain/services.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { createPassOn } from '../remote/pass-on.ts';
import { error } from '../schemas.ts';
import { type ChatBody, chatBody, completionBody, promptsOf } from './bodies.ts';
import { chatSpelling, complete, textSpelling } from './complete.ts';
import { checkCalls, messagesOf } from './messages.ts';
import { createRecorder } from './record-answer.ts';
import { createRequestOf } from './request.ts';
import { schemaOf } from './response-format.ts';
import { chatCompletion, chatEvent, completion } from './schemas.ts';
import { toolUseOf } from './tools.ts';

const tag = 'openai';
const refused: ResponseDoc = {
  description: 'Invalid request, or the checkpoint cannot answer',
  schema: error,
};
const noModel: ResponseDoc = { description: 'Model not found', schema: error };

const streaming = ({ stream, stream_options: more }: Pick<ChatBody, 'stream' | 'stream_options'>) =>
  stream ? { includeUsage: more?.include_usage ?? false } : null;

/** `/v1/chat/completions` and `/v1/completions`. */
export function completionRoutes(services: Services) {
  const { modelReferences, playground } = services;
  const requestOf = createRequestOf(modelReferences);
  const record = createRecorder(services);
  const passOn = createPassOn(services);
  return [
    route({
      method: 'POST',
      path: '/v1/chat/completions',
      tag,
      access: 'inference',
      summary: 'Create a chat completion, optionally streamed',
      body: chatBody,
      bodyExample: {
        model: 'name-or-id',
        messages: [{ role: 'user', content: 'My parcel has not come.' }],
        max_tokens: 128,
      },
      passOn,
      responses: {
        200: {
          description: 'The completion; that of a model of another service is as the service gave it',
          schema: chatCompletion,
          alternativeContentType: 'text/event-stream',
          eventSchema: chatEvent,
        },
        400: refused,
        404: noModel,
        429: { description: 'Too many requests to the service of the model', schema: error },
        502: { description: 'The service of the model cannot be asked, or gave no answer', schema: error },
      },
      handle: ({ body, exchange }) => {
        checkCalls(body.messages);
        const { reasoning_effort: effort, chat_template_kwargs: asked } = body;
        const thinking = asked?.enable_thinking ?? (effort == null ? undefined : effort !== 'none');
        const request = {
          input: {
            kind: 'messages' as const,
            messages: messagesOf(body.messages),
            tools: toolUseOf(body),
            thinking,
            continues: body.continue_final_message ?? undefined,
          },
          ...requestOf(body, body.max_completion_tokens ?? body.max_tokens, exchange, body.messages),
          asBase: body.as_base ?? undefined,
          logprobs: body.logprobs ? (body.top_logprobs ?? 0) : null,
          schema: schemaOf(body.response_format),
        };
        const count = body.n ?? 1;
        const keep = record(body, exchange, referenceKey(request));
        return complete(
          playground,
          exchange,
          [request],
          body.model,
          count,
          chatSpelling,
          streaming(body),
          keep,
        );
      },
    }),
    route({
      method: 'POST',
      path: '/v1/completions',
      tag,
      access: 'inference',
      summary: 'Create a text completion, optionally streamed',
      body: completionBody,
      bodyExample: { model: 'name-or-id', prompt: 'Once upon a time', max_tokens: 128 },
      responses: {
        200: {
          description: 'The generated text',
          schema: completion,
          alternativeContentType: 'text/event-stream',
        },
        400: refused,
        404: noModel,
      },
      handle: ({ body, exchange }) => {
        const requests = promptsOf(body).map((input) => ({
          input,
          ...requestOf(body, body.max_tokens, exchange),
          logprobs: body.logprobs,
          echo: body.echo ?? undefined,
        }));
        const count = body.n ?? 1;
        return complete(playground, exchange, requests, body.model, count, textSpelling, streaming(body));
      },
    }),
  ];
}
