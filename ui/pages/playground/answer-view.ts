import { html, nothing, type TemplateResult } from 'lit';
import type { Answer } from '../../api/generate.ts';
import type { Child } from '../../elements/child.ts';
import { formatCount, formatNumber } from '../../elements/format.ts';
import { nameText, serviceErrorPanel } from '../../elements/parts.ts';
import type { Side } from '../../state/playground/exchange.ts';
import type { Piece } from './differences.ts';
import './answer-text.ts';
import { callView } from './call-view.ts';

/** Over a shorter time, network chunking would distort the rate. */
const leastSpanMs = 50;
/** A slower first token includes loading the model. */
const warmMs = 250;

/** Decoding rate after the first token, or overall when the answer is too short to tell. */
function tokensPerSecond({ tokens, generationMs, firstTokenMs }: Answer): number | null {
  if (tokens === null || generationMs === null || generationMs <= 0) return null;
  const spanMs = generationMs - (firstTokenMs ?? generationMs);
  if (tokens > 1 && spanMs >= leastSpanMs) return ((tokens - 1) / spanMs) * 1000;
  return tokens > 0 && (firstTokenMs ?? 0) < warmMs ? (tokens / generationMs) * 1000 : null;
}

const figuresOf = (answer: Answer): string => {
  const speed = tokensPerSecond(answer);
  return [
    answer.tokens === null ? null : `${formatCount(answer.tokens)} tokens`,
    speed === null ? null : `${formatNumber(speed, 3)} tokens/s`,
    answer.firstTokenMs === null ? null : `first token after ${formatCount(answer.firstTokenMs)} ms`,
  ]
    .filter(Boolean)
    .join(' · ');
};

/** What ended an answer, where it was not the model. */
function endWords({ isCut, stoppedAt }: Answer): Child {
  if (isCut) return 'cut off at the limit of new tokens · ';
  return stoppedAt === undefined
    ? nothing
    : html`Stopped at <bdi>‘${JSON.stringify(stoppedAt).slice(1, -1)}’</bdi> · `;
}

const withMarks = (pieces: readonly Piece[]): Child =>
  pieces.map(({ text, differs }) => (differs ? html`<mark>${text}</mark>` : text));

/** What can be done with an answer; `null` where it cannot. */
export interface AnswerActions {
  readonly rate: ((rating: 'good' | 'bad') => void) | null;
  /** Has another text answer in its place. */
  readonly edit: (() => void) | null;
  /** Says what it should have been. */
  readonly correct: (() => void) | null;
  /** Makes it a row of a dataset. */
  readonly add: (() => void) | null;
  /** Its calls with fields for their results; `null` if none are awaited. */
  readonly calls: TemplateResult | null;
  /** What is shown in place of these while one is in use. */
  readonly editor: TemplateResult | null;
}

/** An answer with its figures. @param pieces its text in parts, if it is compared with another. */
export function answerView(
  side: Side,
  letter: string,
  pieces: readonly Piece[] | undefined,
  actions: AnswerActions,
): TemplateResult {
  const { answer, text, reasoning, calls = [], busy, error } = side;
  const isEmpty = text === '' && calls.length === 0;
  const isFull = error?.detail.includes('context_length_exceeded') ?? false;
  return html`<div class="answer">
    <p class="eyebrow wrap">${letter === '' ? nothing : html`<b>${letter}</b> · `}${nameText(side.name)}</p>
    <div>
    ${
      reasoning
        ? html`<details class="fold"><summary>${busy && text === '' ? 'Thinking…' : 'Thoughts'}</summary><p class="wrap hint"><bdi>${reasoning}</bdi></p></details>`
        : nothing
    }
    ${
      text === '' && (error !== null || calls.length > 0)
        ? nothing
        : pieces === undefined
          ? html`<hone-answer-text .text=${text} .busy=${busy && calls.length === 0}></hone-answer-text>`
          : html`<p class="wrap answer-text"><bdi>${withMarks(pieces)}</bdi></p>`
    }
    ${actions.calls ?? calls.map((call, index) => callView(call, busy && index === calls.length - 1))}
    ${
      error === null
        ? nothing
        : serviceErrorPanel(
            'Generation failed',
            error,
            isFull ? 'Start a new chat, or shorten the prompt.' : undefined,
          )
    }
    </div>
    <div class="answer-foot">
    <div class="row between wrap-row">
      <p class="hint tabular">
        ${busy ? (isEmpty && !reasoning ? side.first : 'generating…') : nothing} ${side.stopped && !busy ? 'stopped' : nothing} ${side.edited ? 'edited' : nothing}
        ${busy || answer === null ? nothing : endWords(answer)}
        ${isEmpty && answer !== null ? 'empty answer · ' : nothing} ${answer === null ? nothing : figuresOf(answer)}
      </p>
      ${busy || isEmpty ? nothing : answerTools(side, actions)}
    </div>
    ${
      side.correction
        ? html`<div class="correction"><p class="eyebrow">Corrected answer</p><p class="wrap answer-text"><bdi>${side.correction}</bdi></p></div>`
        : nothing
    }
    ${actions.editor ?? nothing}
    </div>
  </div>`;
}

function answerTools(
  { text, rating, correction }: Side,
  { rate, edit, correct, add, editor }: AnswerActions,
): TemplateResult {
  const rated = (name: string, value: 'good' | 'bad') =>
    rate === null
      ? nothing
      : html`<button
          type="button"
          class="tool"
          aria-pressed=${rating === value ? 'true' : 'false'}
          @click=${() => rate(value)}
        >
          ${name}
        </button>`;
  const tool = (name: string, act: (() => void) | null) =>
    act === null ? nothing : html`<button type="button" class="tool" @click=${act}>${name}</button>`;
  return html`<span class="row wrap-row">
    ${rated('Good', 'good')} ${rated('Bad', 'bad')}
    ${editor !== null ? nothing : html`${rating === 'bad' || correction ? tool('Correct', correct) : nothing} ${tool('Edit answer', edit)} ${tool('Add to dataset', add)}`}
    ${text === '' ? nothing : html`<hone-copy .text=${text.trim()} label="Copy answer"></hone-copy>`}
  </span>`;
}
