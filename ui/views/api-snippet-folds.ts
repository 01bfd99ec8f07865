import { html, type TemplateResult } from 'lit';
import type { Ask } from '../api/generate.ts';
import { isKeyNeeded } from '../state/session.ts';
import { asCurl, asJavaScript, asPython } from './api-snippets.ts';

/** A request as code in three languages, to copy, and which key it needs. */
export function snippetFolds(ask: Ask): TemplateResult {
  const options = { origin: location.origin, needsKey: isKeyNeeded() };
  return html`${fold('curl', asCurl(ask, options), true)} ${fold('Python', asPython(ask, options))}
    ${fold('JavaScript', asJavaScript(ask, options))}
    ${options.needsKey ? html`<p class="hint">Replace YOUR_ACCESS_KEY with a key from the page <a href="/access">Access</a>.</p>` : html`<p class="hint">No access key is required.</p>`}`;
}

function fold(language: string, code: string, isOpen = false): TemplateResult {
  return html`<details class="fold bare" name="api-snippet" ?open=${isOpen}>
    <summary>${language}</summary>
    <div class="column">
      <pre class="log" tabindex="0" role="region" aria-label="Request in ${language}">${code}</pre>
      <div><hone-copy .text=${code} label="Copy ${language}"></hone-copy></div>
    </div>
  </details>`;
}
