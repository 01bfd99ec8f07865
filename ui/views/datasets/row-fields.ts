import { html, nothing } from 'lit';
import type { Child } from '../../elements/child.ts';
import { formatCount } from '../../elements/format.ts';
import { cutAt, highlight } from '../../elements/highlight.ts';

interface Message {
  readonly role: string;
  readonly content: unknown;
}

const isMessage = (value: unknown): value is Message =>
  typeof value === 'object' && value !== null && 'role' in value && typeof value.role === 'string';

/** The messages of a conversation; `null` for any other value. */
export const messagesOf = (value: unknown): readonly Message[] | null =>
  Array.isArray(value) && value.length > 0 && value.every(isMessage) ? value : null;

const instructing: readonly string[] = ['system', 'developer'];

/** The system prompt of a conversation, with which it begins; `null` if it has none. */
const systemOf = (messages: readonly Message[]): string | null => {
  const [first] = messages;
  return first !== undefined && instructing.includes(first.role) ? textOf(first.content) : null;
};

/** The system prompt that all conversations of some rows have; `null` if there is none, or they differ. */
export function sharedSystem(rows: readonly Record<string, unknown>[]): string | null {
  const found = rows.map((row) => {
    const talks = Object.values(row)
      .map(messagesOf)
      .filter((messages) => messages !== null);
    return talks.map(systemOf).find((system) => system !== null) ?? null;
  });
  const [first = null] = found;
  return found.every((system) => system === first) ? first : null;
}

/** A conversation in short: its last question and the answer to it, after its system prompt unless that is told elsewhere. */
export function lastTurn(messages: readonly Message[], isSystemTold: boolean): string {
  const question = messages.findLastIndex(({ role }) => role === 'user');
  const answer = messages.findLastIndex(({ role }, place) => role === 'assistant' && place > question);
  const system = systemOf(messages);
  const before =
    messages.length - [question, answer].filter((place) => place >= 0).length - (system === null ? 0 : 1);
  const shown = [question, answer].flatMap((place) => messages[place] ?? []);
  return [
    ...(system === null || isSystemTold ? [] : [`system: ${system}`]),
    ...(before > 0 && shown.length > 0 ? [`${formatCount(before)} more`] : []),
    ...(shown.length > 0 ? shown : messages).map(({ role, content }) => `${role}: ${textOf(content)}`),
  ].join(' · ');
}

/** A value of a row as text. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);

/** A row as an object; anything else is its only field. */
export const asObject = (row: unknown): Record<string, unknown> =>
  typeof row === 'object' && row !== null && !Array.isArray(row) ? (row as Record<string, unknown>) : { row };

/** How the service marks a text that it has cut. */
const cutMark = /… \((\d+) characters\)$/;

/** A text of at most `limit` characters, around its first match; a longer one tells its length. */
export function cutText(text: string, limit: number, found: RegExp | null = null): Child {
  if (text.length <= limit) return highlight(text, found);
  const length = Number(cutMark.exec(text)?.[1] ?? text.length);
  const { start, end } = cutAt(text, found, limit);
  const shown = highlight(text.slice(start, end), found);
  return html`${start > 0 ? '…' : ''}${shown}… (${formatCount(length)} characters)`;
}

/** All fields of a row, conversations turn by turn. @param limit the most characters of a text. */
export function rowFields(
  row: unknown,
  found: RegExp | null = null,
  limit = Number.POSITIVE_INFINITY,
): Child {
  return Object.entries(asObject(row)).map(
    ([field, value]) => html`<div class="row-field">
      <p class="field-name"><bdi>${field}</bdi></p>
      ${fieldValue(value, found, limit)}
    </div>`,
  );
}

function fieldValue(value: unknown, found: RegExp | null, limit: number): Child {
  const messages = messagesOf(value);
  if (messages === null) {
    return html`<p class="sample-text wrap"><bdi>${cutText(textOf(value), limit, found)}</bdi></p>`;
  }
  return messages.map(
    ({ role, content, ...others }) => html`<p class="turn">
      <span class="tag"><bdi>${role}</bdi></span>
      <bdi class="sample-text wrap">${cutText(textOf(content), limit, found)}</bdi>
      ${Object.keys(others).length === 0 ? nothing : html`<small class="muted wrap"><bdi>${JSON.stringify(others)}</bdi></small>`}
    </p>`,
  );
}
