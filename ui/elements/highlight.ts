import { html } from 'lit';
import type { Child } from './child.ts';

/** Characters shown before the first match of a text that is cut. */
const before = 60;

/** Finds words in texts, whatever their case; `null` for no words. */
export function matcher(words: string): RegExp | null {
  const plain = words.trim();
  return plain === '' ? null : new RegExp(plain.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'giu');
}

/** A text with its matches marked. */
export function highlight(text: string, found: RegExp | null): Child {
  if (found === null) return text;
  const parts: Child[] = [];
  let end = 0;
  for (const match of text.matchAll(found)) {
    parts.push(text.slice(end, match.index), html`<mark>${match[0]}</mark>`);
    end = match.index + match[0].length;
  }
  return end === 0 ? text : [...parts, text.slice(end)];
}

/** Where to cut a long text so that its first match is seen. */
export function cutAt(text: string, found: RegExp | null, length: number): { start: number; end: number } {
  const first = found === null ? -1 : text.search(found);
  const start = first + before < length ? 0 : first - before;
  return { start, end: Math.min(text.length, start + length) };
}
