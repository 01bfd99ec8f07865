import * as v from 'valibot';
import { ratingFilterRule, ratingFilters, ratings } from '../../../contract/graders/feedback.ts';
import { maximumPromptBytes } from '../../../domain/playground/playground.ts';
import type { Services } from '../../../domain/services.ts';
import type { KeptAnswer } from '../../../domain/traffic/traffic.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { deleted, limitOf } from '../fine-tuning/file-schemas.ts';
import { listOf, metadata } from '../fine-tuning/job-schemas.ts';
import { badCursor, pageOf } from '../page.ts';
import { error, modelName, or } from '../schemas.ts';
import { seenBy } from './record-answer.ts';
import { storedCompletion, storedMessage } from './schemas.ts';

const tag = 'openai';
const path = '/v1/chat/completions/{completion_id}' as const;
const refused: ResponseDoc = { description: 'Invalid request', schema: error };
const unknown: ResponseDoc = { description: 'Completion not found', schema: error };

const page = {
  after: v.optional(v.string()),
  limit: limitOf(100, 20),
  order: v.optional(v.picklist(['asc', 'desc']), 'asc'),
};
const ofMetadata = /^metadata\[(.{1,64})\]$/;
const known = {
  ...page,
  model: v.optional(modelName),
  rating: v.optional(v.picklist(ratingFilters, ratingFilterRule)),
  search: v.optional(v.pipe(v.string(), v.maxLength(200))),
};
const listQuery = v.pipe(
  v.objectWithRest(known, v.string()),
  v.rawCheck(({ dataset: { value }, addIssue }) => {
    for (const key of Object.keys(value as object))
      if (!(key in known) && !ofMetadata.test(key))
        addIssue({
          message: `is no parameter; a filter by metadata is metadata[KEY]=VALUE`,
          path: [{ type: 'object', origin: 'key', input: value as Record<string, unknown>, key, value: key }],
        });
  }),
);
const pageQuery = v.strictObject(page);

const feedbackBody = v.strictObject({
  /** Without a value, what was said before is kept; `null` takes it back. */
  rating: or(v.picklist(ratings, 'must be up or down')),
  /** What the answer should have been. */
  correction: or(v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxBytes(maximumPromptBytes))),
});

type Stored = v.InferInput<typeof storedCompletion>;
const present = ({ completion, metadata, milliseconds, rating, correction }: KeptAnswer): Stored => ({
  ...(completion as Omit<Stored, 'metadata' | 'milliseconds' | 'feedback'>),
  metadata,
  milliseconds,
  feedback: { rating, correction },
});

/** Completions that were asked for with `store`. A key for answers sees its own alone. */
export function storedCompletionRoutes({ traffic }: Services) {
  return [
    route({
      method: 'GET',
      path: '/v1/chat/completions',
      tag,
      access: 'inference',
      summary: 'List the chat completions that are stored',
      query: listQuery,
      responses: {
        200: { description: 'The completions', schema: listOf(storedCompletion) },
        400: refused,
      },
      handle: ({ query: { limit, ...query }, exchange }) => {
        const pairs = Object.entries(query).flatMap(([name, value]) => {
          const key = ofMetadata.exec(name)?.[1];
          return key === undefined ? [] : [[key, String(value)]];
        });
        const filter = { ...query, metadata: Object.fromEntries(pairs), owner: seenBy(exchange) };
        const found = traffic.list({ ...filter, limit });
        if (found === null) throw badCursor(query.after ?? '');
        return pageOf(found.answers.map(present), found.hasMore);
      },
    }),
    route({
      method: 'GET',
      path,
      tag,
      access: 'inference',
      summary: 'Get a stored chat completion',
      responses: { 200: { description: 'The completion', schema: storedCompletion }, 404: unknown },
      handle: ({ params, exchange }) => present(traffic.get(seenBy(exchange), params.completion_id)),
    }),
    route({
      method: 'GET',
      path: `${path}/messages`,
      tag,
      access: 'inference',
      summary: 'List the messages that a stored chat completion answers',
      query: pageQuery,
      responses: {
        200: { description: 'The messages', schema: listOf(storedMessage) },
        400: refused,
        404: unknown,
      },
      handle: ({ params, query: { after, limit, order }, exchange }) => {
        const { id, messages } = traffic.get(seenBy(exchange), params.completion_id);
        const all = messages.map((message, index) => {
          const { content, ...rest } = message as { role: string; content?: unknown };
          const isList = Array.isArray(content);
          return {
            ...rest,
            id: `${id}-${index}`,
            content: typeof content === 'string' ? content : null,
            content_parts: isList ? (content as unknown[]) : null,
          };
        });
        const ordered = order === 'asc' ? all : all.toReversed();
        const from = after === undefined ? 0 : ordered.findIndex((one) => one.id === after) + 1;
        if (after !== undefined && from === 0) throw badCursor(after);
        return pageOf(ordered.slice(from, from + limit), ordered.length > from + limit);
      },
    }),
    route({
      method: 'POST',
      path,
      tag,
      access: 'inference',
      summary: 'Change the metadata of a stored chat completion',
      body: v.strictObject({ metadata: v.nullable(metadata) }),
      bodyExample: { metadata: { topic: 'shipping' } },
      responses: {
        200: { description: 'The completion', schema: storedCompletion },
        400: refused,
        404: unknown,
      },
      handle: ({ params, body, exchange }) =>
        present(traffic.update(seenBy(exchange), params.completion_id, { metadata: body.metadata ?? {} })),
    }),
    route({
      method: 'DELETE',
      path,
      tag,
      access: 'inference',
      summary: 'Delete a stored chat completion',
      responses: { 200: { description: 'The completion was deleted', schema: deleted }, 404: unknown },
      handle: ({ params: { completion_id: id }, exchange }) => {
        traffic.remove(seenBy(exchange), id);
        return { id, object: 'chat.completion.deleted', deleted: true as const };
      },
    }),
    route({
      method: 'POST',
      path: `${path}/feedback`,
      tag,
      access: 'inference',
      summary: 'Rate or correct a stored chat completion',
      body: feedbackBody,
      bodyExample: { rating: 'down', correction: 'Shipping: We trace your parcel today.' },
      responses: {
        200: { description: 'The completion', schema: storedCompletion },
        400: refused,
        404: unknown,
      },
      handle: ({ params, body, exchange }) =>
        present(traffic.update(seenBy(exchange), params.completion_id, body)),
    }),
  ];
}
