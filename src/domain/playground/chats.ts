import type { Store } from '../../db/store.ts';
import type { ChatRow, ChatSummary } from '../../db/tables/chats.ts';
import { AppError } from '../../errors.ts';
import type { Bin } from '../bin/bin.ts';

/** A call of a tool. */
export interface ChatCall {
  readonly id: string;
  readonly name: string;
  /** JSON, as the model wrote it. */
  readonly arguments: string;
}

/** One answer to a prompt. */
export interface ChatAnswer {
  /** What answered. */
  readonly name: string;
  readonly text: string;
  readonly reasoning: string | null;
  readonly calls: readonly ChatCall[];
  /** What the answer should have been. */
  readonly correction: string | null;
}

/** A prompt, or results of calls, with the answers, as far as the service knows it. */
export interface ChatTurn {
  readonly id: string;
  /** The turn that it follows. */
  readonly after: string;
  readonly prompt: string;
  /** What the calls of the turn before gave, in place of a prompt. */
  readonly results: readonly { readonly call_id: string; readonly name: string; readonly content: string }[];
  readonly answers: readonly ChatAnswer[];
}

/** A chat with all its turns `T`: those that follow the same turn are versions of one. */
export interface Chat<T extends ChatTurn> extends Omit<ChatRow, 'createdAt' | 'updatedAt'> {
  readonly turns: readonly T[];
}
export type StoredChat<T extends ChatTurn> = Chat<T> & Pick<ChatRow, 'createdAt' | 'updatedAt'>;
export type { ChatSummary } from '../../db/tables/chats.ts';

/** The chats of the playground. */
export interface Chats {
  /**
   * The latest first.
   * @param search a text that the name or a turn has, in any case.
   * @param isModelDeleted whether only those whose model, or run without a model, was deleted.
   */
  list(modelId: string | null, search: string | null, isModelDeleted: boolean): readonly ChatSummary[];
  /** @throws AppError `not_found` */
  get<T extends ChatTurn>(id: string): StoredChat<T>;
  /** Stores a whole chat, in place of an earlier one with its ID. */
  put<T extends ChatTurn>(chat: Chat<T>): StoredChat<T>;
  /** Changes what is given; turns are added or replaced. @throws AppError `not_found` */
  change<T extends ChatTurn>(
    id: string,
    change: Partial<Pick<Chat<T>, 'name' | 'chosen' | 'tools' | 'turns'>>,
  ): ChatSummary;
  /** @returns its ID in the bin, if it is kept. @throws AppError `not_found` */
  remove(id: string, permanently?: boolean): Promise<string | null>;
}

const wordsOf = ({ prompt, results, answers }: ChatTurn): string =>
  [
    prompt,
    ...results.map(({ content }) => content),
    ...answers.flatMap(({ text, calls, correction }) => [
      text,
      ...calls.flatMap((call) => [call.name, call.arguments]),
      correction ?? '',
    ]),
  ]
    .join('\n')
    .toLowerCase();

export function createChats({ chats, transaction }: Pick<Store, 'chats' | 'transaction'>, bin: Bin): Chats {
  const now = () => new Date().toISOString();
  const find = (id: string): ChatRow => {
    const chat = chats.get(id);
    if (chat === null) throw new AppError('not_found', `There is no chat ${id.slice(0, 100)}.`);
    return chat;
  };
  const putTurns = (id: string, turns: readonly ChatTurn[]) => {
    for (const turn of turns)
      chats.putTurn(id, { id: turn.id, prompt: turn.prompt, turn, words: wordsOf(turn) });
  };
  const summaryOf = (id: string): ChatSummary => {
    const { chosen: _, tools: __, ...chat } = find(id);
    const turns = chats.turns(id) as ChatTurn[];
    return { ...chat, first: turns[0]?.prompt ?? null, turns: turns.length };
  };
  function get<T extends ChatTurn>(id: string): StoredChat<T> {
    return { ...find(id), turns: chats.turns(id) as T[] };
  }
  bin.restores('chat', {
    check({ ref }) {
      if (chats.get(ref) !== null)
        throw new AppError('conflict', `There is a chat ${ref} again. Delete it first.`);
    },
    restored: () => {},
  });
  return {
    list: (modelId, search, isModelDeleted) =>
      chats.list({ modelId, words: search?.toLowerCase() ?? null, isModelDeleted }),
    get,
    put: ({ turns, ...chat }) =>
      transaction(() => {
        const createdAt = chats.get(chat.id)?.createdAt ?? now();
        chats.remove(chat.id);
        chats.put({ ...chat, createdAt, updatedAt: now() });
        putTurns(chat.id, turns);
        return get(chat.id);
      }),
    change: (id, { turns = [], ...change }) =>
      transaction(() => {
        chats.put({ ...find(id), ...change, updatedAt: now() });
        putTurns(id, turns);
        return summaryOf(id);
      }),
    async remove(id, permanently) {
      find(id);
      const place = await bin.place([], permanently);
      const { name, first } = summaryOf(id);
      return bin.discard(place, {
        kind: 'chat',
        ref: id,
        name: name ?? first?.slice(0, 80) ?? 'Empty chat',
        rows: [
          { table: 'chats', column: 'id', value: id },
          { table: 'chat_turns', column: 'chat_id', value: id },
        ],
        remove: () => chats.remove(id),
      });
    },
  };
}
