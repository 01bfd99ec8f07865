import { html, nothing, type TemplateResult } from 'lit';
import type { AnswerRowCounts } from '../../../../api/types.ts';
import { formatCount, formatPercent } from '../../../../elements/format.ts';

/** How many rows are like others, and what a few of these are like. */
export function likeView(
  words: readonly [one: string, many: string],
  { rows, examples }: AnswerRowCounts['near_duplicates'],
): TemplateResult | typeof nothing {
  if (rows === 0) return nothing;
  return html`<details class="fold bare">
    <summary>${formatCount(rows)} ${rows === 1 ? `row ${words[0]}` : `rows ${words[1]}`}</summary>
    <ul class="list">
      ${examples.map(
        ({ text, like, similarity }) => html`<li class="column">
          <span class="wrap"><bdi>${text}</bdi></span>
          <span class="wrap muted">${formatPercent(similarity)} like: <bdi>${like}</bdi></span>
        </li>`,
      )}
    </ul>
  </details>`;
}
