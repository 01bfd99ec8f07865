import type { PlaygroundRequest } from '../../domain/playground/playground.ts';
import type { Services } from '../../domain/services.ts';
import type { Exchange } from '../../http/exchange.ts';
import { type ResponseDoc, route } from '../../http/route.ts';
import { countBody, messageBody, type Prompt } from './body.ts';
import { inputOf } from './conversation.ts';
import { respond } from './respond.ts';
import { count, error, message, messageEvent } from './schemas.ts';

const tag = 'anthropic';
const refused: ResponseDoc = { description: 'Invalid request', schema: error };
const noModel: ResponseDoc = { description: 'Model not found', schema: error };
const messages = [{ role: 'user', content: 'My parcel has not come.' }];

/** `/v1/messages`. */
export function messageRoutes({ modelReferences, playground }: Services) {
  const requestOf = (
    prompt: Prompt,
    exchange: Exchange,
  ): Pick<PlaygroundRequest, 'input' | 'model' | 'caller'> => ({
    ...modelReferences.resolve(prompt.model),
    input: inputOf(prompt),
    caller: exchange.peer.address,
  });

  return [
    route({
      method: 'POST',
      path: '/v1/messages',
      tag,
      access: 'inference',
      summary: 'Create a message, optionally streamed',
      body: messageBody,
      bodyExample: { model: 'name-or-id', max_tokens: 128, messages },
      responses: {
        200: {
          description: 'The message',
          schema: message,
          alternativeContentType: 'text/event-stream',
          eventSchema: messageEvent,
        },
        400: refused,
        404: noModel,
      },
      handle: ({ body, exchange }) => {
        const format = body.output_config?.format;
        const request = {
          ...requestOf(body, exchange),
          maxTokens: body.max_tokens,
          temperature: body.temperature ?? 1,
          topP: body.top_p ?? 1,
          topK: body.top_k ?? undefined,
          stop: body.stop_sequences ?? undefined,
          schema: format?.schema,
        };
        return respond(playground, exchange, request, body.model, body.stream ?? false);
      },
    }),
    route({
      method: 'POST',
      path: '/v1/messages/count_tokens',
      tag,
      access: 'inference',
      summary: 'Count the tokens of the prompt that a message would have',
      body: countBody,
      bodyExample: { model: 'name-or-id', messages },
      responses: { 200: { description: 'The number', schema: count }, 400: refused, 404: noModel },
      handle: async ({ body, exchange }) => {
        const request = { ...requestOf(body, exchange), maxTokens: 0, temperature: 0, topP: 1 };
        const { promptTokens } = await playground.generate(request, { signal: exchange.signal });
        return { input_tokens: promptTokens };
      },
    }),
  ];
}
