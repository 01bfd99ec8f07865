import { html, nothing, type TemplateResult } from 'lit';
import type { Preview } from '../../api/types.ts';

type ChatMessage = NonNullable<Preview['rows'][number]['messages']>[number];

const roleWords: Readonly<Record<string, string>> = {
  system: 'System',
  user: 'User',
  assistant: 'Assistant',
};

/** A conversation as bubbles by role. */
export function chatView(messages: readonly ChatMessage[]): TemplateResult {
  return html`<div class="chat">
    ${messages.map(
      ({ role, content, reasoning, learned }) => html`<div
        class="bubble"
        data-role=${role}
        data-kind=${learned ? 'learned' : 'read'}
      >
        <small class="muted">
          ${roleWords[role] ?? role}${role === 'assistant' && !learned ? html` <span class="badge">not learned</span>` : nothing}
        </small>
        ${reasoning === null ? nothing : html`<small class="muted wrap">Thoughts: <bdi>${reasoning}</bdi></small>`}
        <bdi class="wrap">${content}</bdi>
      </div>`,
    )}
  </div>`;
}
