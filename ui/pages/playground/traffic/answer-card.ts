import { html, nothing, type TemplateResult } from 'lit';
import type { KeptAnswer } from '../../../api/types.ts';
import { formatCount, formatLatency, formatMoment, formatNumber } from '../../../elements/format.ts';
import { jsonView } from '../../../elements/json-view.ts';
import { figure, nameText } from '../../../elements/parts.ts';
import type { AnswerActions } from '../answer-view.ts';
import { exchangeView } from '../exchange-view.ts';
import { conversationOf } from './exchanges.ts';

const noActions: AnswerActions = {
  rate: null,
  edit: null,
  correct: null,
  add: null,
  calls: null,
  editor: null,
};

/** What can be done with a kept answer. */
export interface CardActions {
  readonly rate: (rating: 'up' | 'down') => void;
  readonly correct: () => void;
  readonly remove: () => void;
  /** The form for its correction, while it is being written. */
  readonly editor: TemplateResult | null;
}

/** A kept answer with its conversation, as the playground shows it, and where it came from. */
export function answerCard(answer: KeptAnswer, actions: CardActions): TemplateResult {
  const { system, exchanges } = conversationOf(answer);
  const last: AnswerActions = {
    ...noActions,
    rate: (rating) => actions.rate(rating === 'good' ? 'up' : 'down'),
    editor: actions.editor,
  };
  const none = { edit: null, regenerate: null, goOn: null, raise: null, step: null };
  return html`<div class="card-head">
      <div>
        <h2>${nameText(answer.model)}</h2>
        <p class="hint">${formatMoment(answer.created_at)}</p>
      </div>
      <span class="row">
        <button type="button" class="small" @click=${actions.correct}>Correct</button>
        <button type="button" class="small danger" @click=${actions.remove}>Delete…</button>
      </span>
    </div>
    ${system === '' ? nothing : html`<details class="fold bare"><summary>System prompt</summary><p class="wrap as-it-is"><bdi>${system}</bdi></p></details>`}
    <div class="kept-exchanges" role="region" aria-label="Conversation">
      ${exchanges.map((exchange, index) =>
        exchangeView(
          exchange,
          { number: 1, count: 1 },
          { ...none, ofAnswer: () => (index === exchanges.length - 1 ? last : noActions) },
          exchange.prompt === '' && exchange.results.length === 0 ? html`` : null,
        ),
      )}
    </div>
    ${origin(answer)}`;
}

function origin(answer: KeptAnswer): TemplateResult {
  const { key, metadata, request } = answer;
  const pairs = Object.entries(metadata);
  return html`<dl class="figures-grid fluid">
      ${figure('Latency', formatLatency(answer.milliseconds))}
      ${figure('Prompt', `${formatCount(answer.prompt_tokens)} tokens`)}
      ${figure('Answer', `${formatCount(answer.answer_tokens)} tokens`)}
      ${figure('Asked with', key === null ? 'no key' : key.name === null ? 'a key that was removed' : nameText(key.name))}
    </dl>
    ${
      pairs.length === 0
        ? nothing
        : html`<p class="tags" aria-label="Metadata">${pairs.map(
            ([name, value]) => html`<span class="tag wrap"><bdi>${name}: ${value}</bdi></span> `,
          )}</p>`
    }
    <details class="fold bare">
      <summary>Request</summary>
      <div class="column">
        <p class="hint wrap">
          ${request.id} · temperature ${formatNumber(request.temperature)} · top_p
          ${formatNumber(request.top_p)}${request.seed === null ? nothing : ` · seed ${request.seed}`}
        </p>
        ${
          request.tools === null && request.response_format === null
            ? nothing
            : html`<div class="json-view wrap" dir="ltr">${jsonView({ tools: request.tools, response_format: request.response_format })}</div>`
        }
        <div class="row"><code class="wrap">${answer.id}</code> <hone-copy .text=${answer.id} label="Copy ID"></hone-copy></div>
      </div>
    </details>`;
}
