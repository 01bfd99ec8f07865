import { html, type TemplateResult } from 'lit';
import type { Child } from './child.ts';

/** The longest text that is read as JSON, and the most entries of one list that are shown. */
const longest = 200_000;
const mostEntries = 1_000;

/** The object or list that a text is in JSON; `undefined` for any other text. */
export function readJson(text: string): object | undefined {
  if (text.length > longest || !/^\s*[{[]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}

/** A value of JSON, whose objects and lists can be folded. */
export function jsonView(value: unknown): Child {
  if (typeof value !== 'object' || value === null)
    return html`<span class="json-value">${JSON.stringify(value)}</span>`;
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  const [before, after] = isList ? (['[', ']'] as const) : (['{', '}'] as const);
  if (entries.length === 0) return `${before}${after}`;
  const unit = isList ? (entries.length === 1 ? 'item' : 'items') : entries.length === 1 ? 'field' : 'fields';
  return html`<details class="json" open>
    <summary>${before} <span class="hint">${entries.length} ${unit}</span></summary>
    <ul>
      ${entries.slice(0, mostEntries).map(([name, one]) => entry(isList ? null : name, one))}
      ${entries.length > mostEntries ? html`<li class="hint">and ${entries.length - mostEntries} more</li>` : ''}
    </ul>
    ${after}
  </details>`;
}

const entry = (name: string | null, value: unknown): TemplateResult =>
  html`<li>${name === null ? '' : html`<span class="json-name">${JSON.stringify(name)}:</span> `}${jsonView(value)}</li>`;
