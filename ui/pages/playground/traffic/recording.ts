import { html, nothing, type TemplateResult } from 'lit';
import type { KeptFacets } from '../../../api/types.ts';
import { formatBytes, formatCount, formatMemory } from '../../../elements/format.ts';
import { snippetFolds } from '../../../views/api-snippet-folds.ts';

const days = (count: number) => `${formatCount(count)} ${count === 1 ? 'day' : 'days'}`;

/** How much is kept, and for how long. */
export function retention({
  answers,
  size_bytes: bytes,
  days: kept,
  limit_bytes: limit,
}: KeptFacets): TemplateResult {
  return html`<p class="muted">
    ${
      answers === 0
        ? nothing
        : html`${formatCount(answers)} ${answers === 1 ? 'answer' : 'answers'}, ${formatBytes(bytes)}. `
    }Answers are kept for ${days(kept)} and up to ${formatMemory(limit)}; then the oldest go.
  </p>`;
}

/** How answers come to be kept, with a request to copy. @param model the name of one to ask. */
export const howToRecord = (model: string): TemplateResult => html`<p class="wrap">
    A chat completion or response is kept when its request says <code>store: true</code>, or comes with a key whose
    <em>Record</em> is on under <a href="/access">Access</a>. Nothing else is.
  </p>
  ${snippetFolds({ model, messages: [{ role: 'user', content: 'My parcel has not come.' }], store: true })}`;
