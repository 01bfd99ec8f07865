import type { Db } from '../open.ts';

/** A stored chat, with JSON columns parsed. */
export interface ChatRow {
  readonly id: string;
  readonly modelId: string;
  /** `null` if it is named by its first words. */
  readonly name: string | null;
  /** The version that is shown of the turns that follow a turn, by the ID of that turn; `` for the first ones. */
  readonly chosen: Readonly<Record<string, string>>;
  /** Those that its answers may call; `null` in chats of earlier versions. */
  readonly tools: readonly Readonly<Record<string, unknown>>[] | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface TurnRow {
  readonly id: string;
  readonly prompt: string;
  /** The whole turn. */
  readonly turn: unknown;
  /** What a search finds, in lower case. */
  readonly words: string;
}

export interface ChatSummary extends Omit<ChatRow, 'chosen' | 'tools'> {
  /** The prompt of its first turn; `null` without turns. */
  readonly first: string | null;
  readonly turns: number;
}

/** Which chats are listed. */
export interface ChatFilter {
  readonly modelId: string | null;
  readonly words: string | null;
  readonly isModelDeleted: boolean;
}

/** The tables of chats and their turns. */
export interface ChatStore {
  /** Stores a chat, without its turns, in place of an earlier one with its ID. */
  put(chat: ChatRow): void;
  get(id: string): ChatRow | null;
  /** The turns of a chat in the order in which they were added. */
  turns(id: string): unknown[];
  /** Adds a turn to a chat, or replaces it. */
  putTurn(chatId: string, turn: TurnRow): void;
  /**
   * The latest first.
   * @param filter.modelId of any model if `null`.
   * @param filter.words a text in lower case that its name or a turn has.
   * @param filter.isModelDeleted whether only those whose model, or run without a model, was deleted.
   */
  list(filter: ChatFilter): ChatSummary[];
  /** Deletes a chat with its turns. */
  remove(id: string): void;
}

export function createChatStore(db: Db): ChatStore {
  const columns = 'id, model_id AS modelId, name, created_at AS createdAt, updated_at AS updatedAt';
  const put = db.prepare(
    `INSERT INTO chats (id, model_id, name, chosen, tools, created_at, updated_at)
     VALUES (@id, @modelId, @name, @chosen, @tools, @createdAt, @updatedAt)
     ON CONFLICT (id) DO UPDATE SET model_id = excluded.model_id, name = excluded.name, chosen = excluded.chosen,
       tools = excluded.tools, created_at = excluded.created_at, updated_at = excluded.updated_at`,
  );
  const get = db.prepare(`SELECT ${columns}, chosen, tools FROM chats WHERE id = ?`);
  const turns = db.prepare('SELECT turn FROM chat_turns WHERE chat_id = ? ORDER BY number');
  const putTurn = db.prepare(
    `INSERT INTO chat_turns (chat_id, id, prompt, turn, words) VALUES (@chatId, @id, @prompt, @turn, @words)
     ON CONFLICT (chat_id, id) DO UPDATE SET prompt = excluded.prompt, turn = excluded.turn, words = excluded.words`,
  );
  const list = db.prepare(
    `SELECT ${columns},
       (SELECT prompt FROM chat_turns WHERE chat_id = chats.id ORDER BY number LIMIT 1) AS first,
       (SELECT count(*) FROM chat_turns WHERE chat_id = chats.id) AS turns
     FROM chats
     WHERE (@modelId IS NULL OR model_id = @modelId)
       AND (@words IS NULL OR instr(lower(name), @words) > 0
         OR EXISTS (SELECT 1 FROM chat_turns WHERE chat_id = chats.id AND instr(words, @words) > 0))
       AND (NOT @isModelDeleted OR NOT EXISTS (SELECT 1 FROM models WHERE models.model_id = chats.model_id)
         AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.model_id = chats.model_id AND jobs.state <> 'completed'))
     ORDER BY updated_at DESC, id`,
  );
  const remove = db.prepare('DELETE FROM chats WHERE id = ?');
  return {
    put: (chat) =>
      void put.run({
        ...chat,
        chosen: JSON.stringify(chat.chosen),
        tools: chat.tools && JSON.stringify(chat.tools),
      }),
    get(id) {
      const record = get.get(id) as (ChatSummary & { chosen: string; tools: string | null }) | undefined;
      if (record === undefined) return null;
      const { chosen, tools } = record;
      return { ...record, chosen: JSON.parse(chosen), tools: tools && JSON.parse(tools) };
    },
    turns: (id) => turns.all(id).map((record) => JSON.parse((record as { turn: string }).turn)),
    putTurn: (chatId, row) => void putTurn.run({ ...row, chatId, turn: JSON.stringify(row.turn) }),
    list: ({ isModelDeleted, ...filter }) =>
      list.all({ ...filter, isModelDeleted: Number(isModelDeleted) }) as ChatSummary[],
    remove: (id) => void remove.run(id),
  };
}
