import { readStored, writeStored } from '../local-storage.ts';
import type { Exchange } from './exchange.ts';

/** A conversation with a model, as this browser keeps it. */
export interface Chat {
  readonly id: string;
  readonly exchanges: readonly Exchange[];
}

const keptChats = 20;
/** The most text kept of one model, so that the browser's storage holds several. */
const keptCharacters = 500_000;
const key = (modelId: string) => `chats.${modelId}`;
const openKey = (modelId: string) => `chat.${modelId}`;

/** The stored chats with a model, newest first. */
export const chatsOf = (modelId: string): readonly Chat[] => readStored<readonly Chat[]>(key(modelId), []);

/** The chat that this tab has open with a model, or else the newest. */
export function openChatId(modelId: string): string {
  return readStored(openKey(modelId), '', 'session') || (chatsOf(modelId)[0]?.id ?? newChatId());
}

/** Keeps a chat open in this tab across a reload. */
export const rememberOpen = (modelId: string, id: string): void =>
  writeStored(openKey(modelId), id, 'session');

export const newChatId = (): string => `${Date.now()}-${Math.random().toString(36).slice(2, 8)}`;

/** Stores a chat as the newest, beside those that other tabs have stored; without exchanges, removes it. */
export function storeChat(modelId: string, chat: Chat): void {
  const others = chatsOf(modelId).filter(({ id }) => id !== chat.id);
  let room = keptCharacters;
  const kept = [chat, ...others]
    .filter(({ exchanges }) => exchanges.length > 0)
    .slice(0, keptChats)
    .filter(({ exchanges }, index) => {
      room -= exchanges.reduce((sum, exchange) => sum + lengthOf(exchange), 0);
      return room >= 0 || index === 0;
    });
  writeStored(key(modelId), kept);
}

/** The newest exchanges of a chat that fit into the storage. */
export function fitting(exchanges: readonly Exchange[]): readonly Exchange[] {
  let room = keptCharacters;
  const cut = exchanges.findLastIndex((exchange) => {
    room -= lengthOf(exchange);
    return room < 0;
  });
  return exchanges.slice(cut + 1);
}

const lengthOf = ({ prompt, sides }: Exchange) =>
  sides.reduce((sum, { text }) => sum + text.length, prompt.length);
