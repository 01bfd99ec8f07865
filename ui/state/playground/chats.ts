import { service } from '../../api/service.ts';
import type { StoredChat } from '../../api/types.ts';
import { readStored, writeStored } from '../local-storage.ts';
import type { Exchange } from './exchange.ts';
import { toTurn } from './stored-turn.ts';

const openKey = (modelId: string) => `chat.${modelId}`;

/** The chat that this tab has open with a model; empty if it has not had one. */
export const openChatId = (modelId: string): string => readStored(openKey(modelId), '', 'session');

/** Keeps a chat open in this tab across a reload. */
export const rememberOpen = (modelId: string, id: string): void =>
  writeStored(openKey(modelId), id, 'session');

/** An ID that no other tab gives. Not `randomUUID`, which pages have only over HTTPS. */
export const newId = (): string =>
  `${Date.now().toString(36)}-${[...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(36)).join('')}`;

/** A chat of an earlier version, which the browser kept. */
interface KeptChat {
  readonly id: string;
  readonly exchanges: readonly Pick<Exchange, 'prompt' | 'sides'>[];
}

/** Hands the chats with a model that the browser kept in earlier versions to the service, the oldest first. */
export async function handOver(modelId: string): Promise<void> {
  const key = `chats.${modelId}`;
  let left = readStored<readonly KeptChat[]>(key, []);
  for (let chat = left.at(-1); chat !== undefined; chat = left.at(-1)) {
    await service.putChat(chat.id, asStored(modelId, chat));
    left = left.slice(0, -1);
    writeStored(key, left);
  }
}

const asStored = (modelId: string, { exchanges }: KeptChat): Pick<StoredChat, 'model_id' | 'turns'> => ({
  model_id: modelId,
  turns: exchanges.map(({ prompt, sides }, index) =>
    toTurn({
      id: `${index + 1}`,
      after: index === 0 ? '' : `${index}`,
      system: '',
      prompt,
      results: [],
      sides,
    }),
  ),
});
