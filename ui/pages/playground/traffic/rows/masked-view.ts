import { html, nothing, type TemplateResult } from 'lit';
import type { ServiceError } from '../../../../api/request.ts';
import type { AnswerRowCounts } from '../../../../api/types.ts';
import { formatCount } from '../../../../elements/format.ts';

/** What is masked in the first rows, with examples, or what is needed for it. */
export function maskedView(
  masked: AnswerRowCounts['masked'],
  error: ServiceError | null,
): TemplateResult | typeof nothing {
  if (error?.status === 409)
    return html`<p class="hint">Install Presidio with <code>hone mask add</code> on the machine of the service.</p>`;
  if (masked === null) return nothing;
  const { rows, found, names, examples } = masked;
  const values = Object.entries(found).sort(([, one], [, other]) => other - one);
  const said = values.map(([kind, count]) => `${formatCount(count)} ${kind}`).join(', ');
  return html`<details class="fold bare">
    <summary>
      ${values.length === 0 ? 'Nothing found' : said} in the first ${rows === 1 ? 'row' : `${formatCount(rows)} rows`}
    </summary>
    <ul class="list">
      ${examples.map(
        ({ before, after }) => html`<li class="column">
          <span class="wrap muted"><bdi>${before}</bdi></span>
          <span class="wrap"><bdi>${after}</bdi></span>
        </li>`,
      )}
    </ul>
    ${names ? nothing : html`<p class="hint">Names of people and places are not found: spaCy’s English model is not installed.</p>`}
  </details>`;
}
