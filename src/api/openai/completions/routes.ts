import type { PlaygroundRequest } from '../../../domain/playground/playground.ts';
import type { Services } from '../../../domain/services.ts';
import type { Exchange } from '../../../http/exchange.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { error } from '../schemas.ts';
import {
  type ChatBody,
  type CompletionBody,
  chatBody,
  completionBody,
  defaults,
  promptsOf,
  samplingOf,
} from './bodies.ts';
import { chatSpelling, complete, textSpelling } from './complete.ts';
import { messagesOf } from './messages.ts';
import { grammarOf } from './response-format.ts';
import { chatCompletion, chatEvent, completion } from './schemas.ts';
import { toolUseOf } from './tools.ts';

const tag = 'openai';
const refused: ResponseDoc = {
  description: 'Invalid request, or the checkpoint cannot answer',
  schema: error,
};
const noModel: ResponseDoc = { description: 'Model not found', schema: error };

/** The options that both kinds of completion have. */
const options = (
  body: Omit<ChatBody | CompletionBody, 'logprobs'>,
  maxTokens: number | null | undefined,
  exchange: Exchange,
): Omit<PlaygroundRequest, 'model' | 'input'> => ({
  maxTokens: maxTokens ?? body.max_tokens ?? defaults.maxTokens,
  temperature: body.temperature ?? defaults.temperature,
  topP: body.top_p ?? defaults.topP,
  caller: exchange.peer.address,
  seed: body.seed,
  stop: body.stop == null ? undefined : [body.stop].flat(),
  ignoreEos: body.ignore_eos ?? undefined,
  cache: body.cache ?? undefined,
  ...samplingOf(body),
  logitBias: (body.logit_bias ?? undefined) as Record<string, number> | undefined,
  scale: body.scale ?? undefined,
  file: body.file ?? undefined,
});
const streaming = ({ stream, stream_options: more }: Pick<ChatBody, 'stream' | 'stream_options'>) =>
  stream ? { includeUsage: more?.include_usage ?? false } : null;

/** `/v1/chat/completions` and `/v1/completions`. */
export function completionRoutes({ modelReferences, playground }: Services) {
  /** A checkpoint is also found by its own name, and by that of its job, which may have no model yet. */
  const modelOf = ({ model, checkpoint }: { model: string; checkpoint?: number | null | undefined }) =>
    checkpoint == null ? modelReferences.resolve(model) : { model, checkpoint };
  const blendOf = ({ blend }: Pick<ChatBody, 'blend'>) =>
    blend == null ? undefined : { ...modelOf(blend), scale: blend.scale ?? undefined };

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
      responses: {
        200: {
          description: 'The completion',
          schema: chatCompletion,
          alternativeContentType: 'text/event-stream',
          eventSchema: chatEvent,
        },
        400: refused,
        404: noModel,
      },
      handle: ({ body, exchange }) => {
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
          ...options(body, body.max_completion_tokens, exchange),
          ...modelOf(body),
          blend: blendOf(body),
          asBase: body.as_base ?? undefined,
          logprobs: body.logprobs ? (body.top_logprobs ?? 0) : null,
          grammar: grammarOf(body.response_format),
        };
        const count = body.n ?? 1;
        return complete(playground, exchange, [request], body.model, count, chatSpelling, streaming(body));
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
          ...options(body, null, exchange),
          ...modelOf(body),
          blend: blendOf(body),
          logprobs: body.logprobs,
          echo: body.echo ?? undefined,
        }));
        const count = body.n ?? 1;
        return complete(playground, exchange, requests, body.model, count, textSpelling, streaming(body));
      },
    }),
  ];
}
