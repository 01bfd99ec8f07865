import { html, nothing, type TemplateResult } from 'lit';
import type { Preview } from '../../api/types.ts';

type Token = Preview['rows'][number]['tokens'][number];

/** Tokens in groups: those that share a character are in one. */
export function tokenBoxes(tokens: readonly Token[]): readonly (readonly Token[])[] {
  const boxes: Token[][] = [];
  for (const token of tokens) {
    const last = boxes.at(-1);
    if (token.joined && last !== undefined) last.push(token);
    else boxes.push([token]);
  }
  return boxes;
}

/** @param hasBytes whether the ID and the bytes of each token are shown, too. */
export function tokenBox(tokens: readonly Token[], hasBytes: boolean): TemplateResult {
  const kind = tokens.some(({ truncated }) => truncated)
    ? 'cut'
    : tokens.some(({ labelled }) => labelled)
      ? 'learned'
      : 'read';
  return html`<span class="token" data-kind=${kind}>${tokens.map(({ text }) => text).join('')}${
    hasBytes
      ? tokens.map((token) => html`<small class="token-id">${token.id} ${bytesOf(token)}</small>`)
      : nothing
  }</span>`;
}

/** The bytes of a token in hexadecimal, with spaces between them. */
function bytesOf({ bytes, text }: Token): string {
  const own =
    bytes ??
    Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('');
  return own.toUpperCase().replaceAll(/(..)(?=.)/g, '$1 ');
}
