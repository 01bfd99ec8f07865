import { html, nothing, type TemplateResult } from 'lit';
import type { ChatSummary } from '../../../api/types.ts';
import { keyedRow } from '../../../elements/child.ts';
import { menu, menuItem } from '../../../elements/menu.ts';

/** From so many chats on, they can be searched. */
const searchedFrom = 5;

export interface ChatBarOptions {
  /** Those that are found. */
  readonly chats: readonly ChatSummary[];
  readonly openId: string;
  readonly isEmpty: boolean;
  readonly search: string;
  /** The name that is being written; `null` while none is. */
  readonly renaming: string | null;
  readonly open: (id: string | null) => void;
  readonly find: (text: string) => void;
  readonly rename: (name: string | null) => void;
  /** Stores the name that was written. */
  readonly named: () => void;
  readonly save: () => void;
  readonly remove: () => void;
}

/** The choice among the stored chats, the way to a new one, and what can be done with the open one. */
export function chatBar(options: ChatBarOptions): TemplateResult {
  const { chats, openId, isEmpty, search, renaming, open, find } = options;
  const stored = chats.find(({ id }) => id === openId);
  return html`<div class="chat-bar">
    ${
      renaming !== null
        ? nameForm(renaming, options)
        : html`<label class="off-screen" for="chat">Chat</label>
          <select id="chat" @change=${(event: Event) => open((event.target as HTMLSelectElement).value)}>
            ${stored ? nothing : html`<option value=${openId} selected>${isEmpty ? 'New chat' : 'This chat'}</option>`}
            ${keyedRow(
              chats,
              ({ id }) => id,
              ({ id, title }) => html`<option value=${id} ?selected=${id === openId}>${title}</option>`,
            )}
          </select>`
    }
    ${
      chats.length < searchedFrom && search === ''
        ? nothing
        : html`<label class="off-screen" for="chat-search">Search chats</label>
          <input
            id="chat-search"
            type="search"
            placeholder="Search chats"
            maxlength="200"
            .value=${search}
            @input=${(event: Event) => find((event.target as HTMLInputElement).value)}
          />`
    }
    <button type="button" ?disabled=${isEmpty} @click=${() => open(null)}>New chat</button>
    ${stored === undefined ? nothing : moreMenu(stored, options)}
  </div>`;
}

function moreMenu({ title }: ChatSummary, { rename, save, remove }: ChatBarOptions): TemplateResult {
  return menu(
    'More',
    html`<div class="menu-body">
      ${menuItem('Rename chat', () => rename(title))} ${menuItem('Export chat', save)} ${menuItem('Delete chat', remove)}
    </div>`,
  );
}

function nameForm(renaming: string, { rename, named }: ChatBarOptions): TemplateResult {
  const submit = (event: Event) => {
    event.preventDefault();
    if (renaming.trim() !== '') named();
  };
  return html`<form class="row chat-name" @submit=${submit}>
    <label class="off-screen" for="chat-name">Name of the chat</label>
    <input
      id="chat-name"
      maxlength="200"
      .value=${renaming}
      @input=${(event: Event) => rename((event.target as HTMLInputElement).value)}
      @keydown=${(event: KeyboardEvent) => event.key === 'Escape' && rename(null)}
    />
    <button type="submit" class="small primary" ?disabled=${renaming.trim() === ''}>Save</button>
    <button type="button" class="small" @click=${() => rename(null)}>Cancel</button>
  </form>`;
}
