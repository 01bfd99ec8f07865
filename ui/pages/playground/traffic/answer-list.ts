import { html, type TemplateResult } from 'lit';
import type { KeptSummary } from '../../../api/types.ts';
import { type Child, keyedRow } from '../../../elements/child.ts';
import { formatAgo, formatCount, formatLatency, formatMoment } from '../../../elements/format.ts';
import { nameText } from '../../../elements/parts.ts';
import type { ChosenEntries } from '../../../views/lists/chosen-entries.ts';
import { ratingBadges } from './rating-words.ts';

/** The kept answers, each with a box that selects it and a link that shows it. @param pathOf the address that shows one. */
export function answerList(options: {
  readonly answers: readonly KeptSummary[];
  readonly current: string;
  readonly chosen: ChosenEntries<KeptSummary>;
  readonly pathOf: (id: string) => string;
  /** What follows the last one. */
  readonly end: Child;
}): TemplateResult {
  const { answers, current, chosen, pathOf, end } = options;
  return html`<div class="kept-scroll">
    <ul class="kept-list">
      ${keyedRow(answers, chosen.idOf, (answer) => {
        const title = answer.question === '' ? 'No question' : answer.question;
        const isCurrent = answer.id === current;
        return html`<li data-current=${isCurrent ? 'yes' : 'no'}>
          <input
            type="checkbox"
            aria-label="Select the answer to ${title.slice(0, 80)}"
            .checked=${chosen.has(answer)}
            @change=${(event: Event) => chosen.choose([answer], (event.target as HTMLInputElement).checked)}
          />
          <a href=${pathOf(answer.id)} data-id=${answer.id} aria-current=${isCurrent ? 'true' : 'false'}>
            <span class="kept-line"><bdi>${title}</bdi></span>
            <span class="kept-line muted"><bdi>${answer.answer === '' ? 'Empty answer' : answer.answer}</bdi></span>
            <span class="kept-facts tabular">
              <span title=${formatMoment(answer.created_at)}>${formatAgo(answer.created_at)}</span>
              <span>${nameText(answer.model)}</span>
              <span>${formatLatency(answer.milliseconds)}</span>
              <span>${formatCount(answer.answer_tokens)} tokens</span>
              ${ratingBadges(answer)}
            </span>
          </a>
        </li>`;
      })}
    </ul>
    ${end}
  </div>`;
}
