import { html, type TemplateResult } from 'lit';
import { snippetFolds } from '../../views/api-snippet-folds.ts';
import { baseUrl } from '../../views/api-snippets.ts';

const example = 'My parcel has not come.';

/** How programs ask a model: the base URL, and requests to copy. @param name the model's name in `/v1`. */
export function useThroughApi(name: string): TemplateResult {
  const url = baseUrl(location.origin);
  return html`<section class="card" aria-labelledby="use-api">
    <h2 id="use-api">Use with OpenAI’s libraries</h2>
    <p class="path"><code class="wrap">${url}</code><hone-copy .text=${url} label="Copy base URL"></hone-copy></p>
    ${snippetFolds({ model: name, messages: [{ role: 'user', content: example }], max_tokens: 128 })}
  </section>`;
}
