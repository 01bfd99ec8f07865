import { createHash } from 'node:crypto';
import * as v from 'valibot';
import { referenceKey } from '../../../domain/fine-tuning/model-references.ts';
import type { Services } from '../../../domain/services.ts';
import { AppError } from '../../../errors.ts';
import { credentialsOf } from '../../../http/access/credentials.ts';
import type { Exchange } from '../../../http/exchange.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { messagesOf } from '../completions/messages.ts';
import { createRecorder } from '../completions/record-answer.ts';
import { createRequestOf } from '../completions/request.ts';
import { toolUseOf } from '../completions/tools.ts';
import { deleted, limitOf } from '../fine-tuning/file-schemas.ts';
import { badCursor, pageOf } from '../page.ts';
import { error } from '../schemas.ts';
import { type ResponseBody, responseBody, schemaOfText, toolsOf } from './body.ts';
import { checkResults, messagesFrom } from './conversation.ts';
import { type Item, itemOf } from './items.ts';
import { begunResponse, completionOf } from './present-response.ts';
import { respond } from './respond.ts';
import { items, type Response, response, responseEvent } from './schemas.ts';
import { createStoredResponses, type StoredResponses } from './stored-responses.ts';

const tag = 'openai';
const refused: ResponseDoc = {
  description: 'Invalid request, or the checkpoint cannot answer',
  schema: error,
};
const noResponse: ResponseDoc = { description: 'Response not found', schema: error };

const query = v.strictObject({
  stream: v.optional(v.literal('false', 'must be false: a response is stored when it is complete')),
});
const itemsQuery = v.strictObject({
  after: v.optional(v.string()),
  limit: limitOf(100, 20),
  order: v.optional(v.picklist(['asc', 'desc']), 'desc'),
});

const unknown = (id: string): AppError =>
  new AppError('not_found', `Response with id '${id.slice(0, 100)}' not found.`, { details: { code: null } });

function conversationOf(
  stored: StoredResponses<Response>,
  owner: string,
  id: string | null | undefined,
): Item[] {
  if (id == null) return [];
  const found = stored.get(owner, id);
  if (found !== null) return [...found.input, ...found.response.output];
  // OpenAI's words and code, as those below.
  const msg = `Previous response with id '${id.slice(0, 100)}' not found.`;
  throw new AppError('invalid', msg, {
    issues: [{ loc: ['body', 'previous_response_id'], msg, type: 'value_error' }],
    details: { code: 'previous_response_not_found' },
  });
}

/** The items of a request. @throws AppError `not_found` for a reference to an item that is not stored. */
function itemsOf(stored: StoredResponses<Response>, owner: string, input: ResponseBody['input']): Item[] {
  if (typeof input === 'string') return [itemOf({ role: 'user', content: input })];
  const wanted = input.flatMap((one) => (one.type === 'item_reference' ? [one.id] : []));
  const found = stored.items(owner, new Set(wanted));
  return input.map((one) => {
    if (one.type !== 'item_reference') return itemOf(one);
    const item = found.get(one.id);
    if (item !== undefined) return item;
    const msg = `Item with id '${one.id.slice(0, 100)}' not found. Items are not persisted when \`store\` is set to false.`;
    throw new AppError('not_found', msg, {
      issues: [{ loc: ['body', 'input'], msg, type: 'value_error' }],
      details: { code: null },
    });
  });
}

/** `/v1/responses`. */
export function responseRoutes(services: Services) {
  const { access, modelReferences, playground } = services;
  const record = createRecorder(services);
  const requestOf = createRequestOf(modelReferences);
  const stored = createStoredResponses<Response>();
  /** Whoever presents the same key, or none. */
  const ownerOf = (exchange: Exchange): string => {
    const { bearer, session } = credentialsOf((name) => exchange.header(name), access.cookieName);
    return createHash('sha256')
      .update(bearer ?? session ?? '')
      .digest('hex');
  };
  const find = (exchange: Exchange, id: string) => {
    const found = stored.get(ownerOf(exchange), id);
    if (found === null) throw unknown(id);
    return found;
  };

  return [
    route({
      method: 'POST',
      path: '/v1/responses',
      tag,
      access: 'inference',
      summary: 'Create a response, optionally streamed',
      body: responseBody,
      bodyExample: { model: 'name-or-id', input: 'My parcel has not come.', max_output_tokens: 128 },
      responses: {
        200: {
          description: 'The response',
          schema: response,
          alternativeContentType: 'text/event-stream',
          eventSchema: responseEvent,
        },
        400: refused,
        404: { description: 'Model or item not found', schema: error },
      },
      handle: ({ body, exchange }) => {
        const owner = ownerOf(exchange);
        const before = conversationOf(stored, owner, body.previous_response_id);
        const own = itemsOf(stored, owner, body.input);
        checkResults(before, own);
        const input = [...before, ...own];
        const messages = messagesFrom(body.instructions, input);
        const effort = body.reasoning?.effort;
        const format = body.text?.format;
        const isRated = body.top_logprobs != null || body.include?.includes('message.output_text.logprobs');
        const request = {
          input: {
            kind: 'messages' as const,
            messages: messagesOf(messages),
            tools: toolUseOf(toolsOf(body)),
            thinking: effort == null ? undefined : effort !== 'none',
          },
          ...requestOf(body, body.max_output_tokens, exchange, messages),
          asBase: body.as_base ?? undefined,
          logprobs: isRated ? (body.top_logprobs ?? 0) : null,
          schema: schemaOfText(format),
        };
        const keep = record({ ...body, ...toolsOf(body), messages }, exchange, referenceKey(request));
        const isStream = body.stream ?? false;
        return respond(playground, exchange, request, begunResponse(body), isStream, (made) => {
          if (made.store) stored.put(owner, { response: made, input });
          keep?.(completionOf(made));
        });
      },
    }),
    route({
      method: 'GET',
      path: '/v1/responses/{response_id}',
      tag,
      access: 'inference',
      summary: 'Get a stored response',
      query,
      responses: { 200: { description: 'The response', schema: response }, 404: noResponse },
      handle: ({ params, exchange }) => find(exchange, params.response_id).response,
    }),
    route({
      method: 'DELETE',
      path: '/v1/responses/{response_id}',
      tag,
      access: 'inference',
      summary: 'Delete a stored response',
      responses: { 200: { description: 'The response was deleted', schema: deleted }, 404: noResponse },
      handle: ({ params: { response_id: id }, exchange }) => {
        if (!stored.remove(ownerOf(exchange), id)) throw unknown(id);
        return { id, object: 'response', deleted: true as const };
      },
    }),
    route({
      method: 'GET',
      path: '/v1/responses/{response_id}/input_items',
      tag,
      access: 'inference',
      summary: 'List the items that a stored response answers',
      query: itemsQuery,
      responses: { 200: { description: 'The items', schema: items }, 400: refused, 404: noResponse },
      handle: ({ params, query: { after, limit, order }, exchange }) => {
        const { input } = find(exchange, params.response_id);
        const ordered = order === 'asc' ? input : input.toReversed();
        const from = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
        if (after !== undefined && from === 0) throw badCursor(after);
        return pageOf(ordered.slice(from, from + limit), ordered.length > from + limit);
      },
    }),
  ];
}
