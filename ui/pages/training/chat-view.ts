import { html, nothing, type TemplateResult } from 'lit';
import type { Preview } from '../../api/types.ts';

type ChatMessage = NonNullable<Preview['rows'][number]['messages']>[number];

const roleWords: Readonly<Record<string, string>> = {
  system: 'System',
  user: 'User',
  assistant: 'Assistant',
  tool: 'Tool',
};

/** A conversation as bubbles by role. */
export function chatView(messages: readonly ChatMessage[]): TemplateResult {
  return html`<div class="chat">
    ${messages.map(
      ({ role, content, reasoning, tool_calls, learned }) => html`<div
        class="bubble"
        data-role=${role}
        data-kind=${learned ? 'learned' : 'read'}
      >
        <small class="muted">
          ${roleWords[role] ?? role}${role === 'assistant' && !learned ? html` <span class="badge">not learned</span>` : nothing}
        </small>
        ${reasoning === null ? nothing : html`<small class="muted wrap">Thoughts: <bdi>${reasoning}</bdi></small>`}
        ${content === '' && tool_calls.length > 0 ? nothing : html`<bdi class="wrap">${content}</bdi>`}
        ${tool_calls.map(
          ({ name, arguments: given }) => html`<bdi class="wrap mono">${name}(${given})</bdi>`,
        )}
      </div>`,
    )}
  </div>`;
}
