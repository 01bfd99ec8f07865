import * as v from 'valibot';
import { isBaseName } from '../../../domain/base-models/local-models.ts';
import { deletionQuery } from '../../../domain/bin/deletion-query.ts';
import type { ChatSummary, StoredChat } from '../../../domain/playground/chats.ts';
import type { Services } from '../../../domain/services.ts';
import { AppError } from '../../../errors.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { deletion, errorBody, refused, tag } from '../common.ts';
import * as s from './chat-schemas.ts';

const noChat: ResponseDoc = { description: 'Chat not found', schema: errorBody };
const longestTitle = 60;

/** The first words of a text, in one line. */
function titleOf({ name, first }: ChatSummary): string {
  if (name !== null) return name;
  const words = (first ?? '').trim().replace(/\s+/g, ' ');
  const letters = Array.from(words);
  return letters.length > longestTitle ? `${letters.slice(0, longestTitle).join('')}…` : words;
}

const presentSummary = (chat: ChatSummary) => ({
  id: chat.id,
  model_id: chat.modelId,
  name: chat.name,
  title: titleOf(chat),
  turns: chat.turns,
  created_at: chat.createdAt,
  updated_at: chat.updatedAt,
});

const presentChat = (chat: StoredChat<s.Turn>) => ({
  id: chat.id,
  model_id: chat.modelId,
  name: chat.name,
  created_at: chat.createdAt,
  updated_at: chat.updatedAt,
  chosen: chat.chosen,
  tools: chat.tools && [...chat.tools],
  turns: chat.turns,
});

const bodyExample = {
  model_id: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
  turns: [
    {
      id: 'a',
      after: '',
      prompt: 'My parcel has not come.',
      answers: [{ name: 'Qwen3-0.6B-support', text: 'Shipping: We will trace it.' }],
    },
  ],
};

/** The chats of the playground. */
export function chatRoutes({ chats, localModels }: Services) {
  /** Base models are in no table: those of a chat are deleted if they are no longer on this machine. */
  async function withoutBasesHere<C extends { readonly modelId: string }>(found: readonly C[]) {
    if (!found.some(({ modelId }) => isBaseName(modelId))) return found;
    const here = new Set((await localModels()).map(({ answersAs }) => answersAs));
    return found.filter(({ modelId }) => !here.has(modelId));
  }

  return [
    route({
      method: 'GET',
      path: '/api/playground/chats',
      tag,
      summary:
        'List the chats of the playground, the latest first, of one model, with a text, or of models that were deleted',
      query: s.chatQuery,
      responses: { 200: { description: 'The chats', schema: s.chatList } },
      handle: async ({ query }) => {
        const found = chats.list(query.model_id ?? null, query.search || null, query.model_deleted);
        return { chats: (query.model_deleted ? await withoutBasesHere(found) : found).map(presentSummary) };
      },
    }),
    route({
      method: 'GET',
      path: '/api/playground/chats/{chat_id}',
      tag,
      summary: 'Get a chat with all versions of its turns',
      responses: { 200: { description: 'The chat', schema: s.chat }, 404: noChat },
      handle: ({ params }) => presentChat(chats.get(params.chat_id)),
    }),
    route({
      method: 'PUT',
      path: '/api/playground/chats/{chat_id}',
      tag,
      summary:
        'Store a chat under an ID of the caller, in place of an earlier one; an exported chat is one, too',
      body: s.chatBody,
      bodyExample,
      responses: { 200: { description: 'The stored chat', schema: s.chat }, 400: refused },
      handle: ({ params, body }) => {
        const id = v.safeParse(s.idOf, params.chat_id);
        if (!id.success) throw new AppError('invalid', `The chat's ID ${id.issues[0].message}.`);
        const { model_id: modelId, name, chosen, tools, turns } = body;
        return presentChat(chats.put<s.Turn>({ id: id.output, modelId, name, chosen, tools, turns }));
      },
    }),
    route({
      method: 'PATCH',
      path: '/api/playground/chats/{chat_id}',
      tag,
      summary:
        'Rename a chat, add or replace turns of it, set its tools, or choose the versions that are shown',
      body: s.chatChange,
      bodyExample: { name: 'A lost parcel' },
      responses: {
        200: { description: 'The changed chat', schema: s.chatSummary },
        400: refused,
        404: noChat,
      },
      handle: ({ params, body }) => presentSummary(chats.change<s.Turn>(params.chat_id, body)),
    }),
    route({
      method: 'DELETE',
      path: '/api/playground/chats/{chat_id}',
      tag,
      summary: 'Delete a chat',
      query: deletionQuery,
      responses: { 200: { description: 'The chat was deleted', schema: deletion }, 404: noChat },
      handle: async ({ params, query }) => {
        const binId = await chats.remove(params.chat_id, query.permanently);
        return { status: 'deleted', message: `Chat ${params.chat_id} was deleted`, bin_id: binId };
      },
    }),
  ];
}
