import { html, type TemplateResult } from 'lit';
import { isKeyNeeded } from '../../state/session.ts';
import { asCurl, asJavaScript, asPython, baseUrl } from '../../views/api-snippets.ts';

const example = 'My parcel has not come.';

/** How programs ask a model: the base URL, and requests to copy. @param name the model's name in `/v1`. */
export function useThroughApi(name: string): TemplateResult {
  const options = { origin: location.origin, needsKey: isKeyNeeded() };
  const ask = { model: name, messages: [{ role: 'user' as const, content: example }], max_tokens: 128 };
  const url = baseUrl(options.origin);
  return html`<section class="card" aria-labelledby="use-api">
    <h2 id="use-api">Use with OpenAI’s libraries</h2>
    <p class="path"><code class="wrap">${url}</code><hone-copy .text=${url} label="Copy base URL"></hone-copy></p>
    ${snippet('curl', asCurl(ask, options), true)} ${snippet('Python', asPython(ask, options))}
    ${snippet('JavaScript', asJavaScript(ask, options))}
    ${options.needsKey ? html`<p class="hint">Replace YOUR_ACCESS_KEY by a key of the page <a href="/access">Access</a>.</p>` : html`<p class="hint">No access key is needed here.</p>`}
  </section>`;
}

function snippet(language: string, code: string, isOpen = false): TemplateResult {
  return html`<details class="fold bare" name="api-snippet" ?open=${isOpen}>
    <summary>${language}</summary>
    <div class="column">
      <pre class="log" tabindex="0" role="region" aria-label="Request in ${language}">${code}</pre>
      <div><hone-copy .text=${code} label="Copy ${language}"></hone-copy></div>
    </div>
  </details>`;
}
