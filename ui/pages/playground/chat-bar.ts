import { html, nothing, type TemplateResult } from 'lit';
import { keyedRow } from '../../elements/child.ts';
import type { Chat } from '../../state/playground/chats.ts';

const longestTitle = 60;

function titleOf({ exchanges }: Chat): string {
  const prompt = (exchanges[0]?.prompt ?? '').trim().replace(/\s+/g, ' ');
  return prompt.length > longestTitle ? `${prompt.slice(0, longestTitle)}…` : prompt;
}

/** The choice among the stored chats, and the way to a new one. */
export function chatBar(options: {
  readonly chats: readonly Chat[];
  readonly openId: string;
  readonly isEmpty: boolean;
  readonly open: (id: string | null) => void;
  readonly remove: () => void;
}): TemplateResult {
  const { chats, openId, isEmpty, open, remove } = options;
  const isStored = chats.some(({ id }) => id === openId);
  return html`<div class="chat-bar">
    <label class="off-screen" for="chat">Chat</label>
    <select id="chat" @change=${(event: Event) => open((event.target as HTMLSelectElement).value)}>
      ${isStored ? nothing : html`<option value=${openId} selected>New chat</option>`}
      ${keyedRow(
        chats,
        ({ id }) => id,
        (chat) => html`<option value=${chat.id} ?selected=${chat.id === openId}>${titleOf(chat)}</option>`,
      )}
    </select>
    <button type="button" ?disabled=${isEmpty} @click=${() => open(null)}>New chat</button>
    <button type="button" ?disabled=${isEmpty} @click=${remove}>Delete chat</button>
  </div>`;
}
