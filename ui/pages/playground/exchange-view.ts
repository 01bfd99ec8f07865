import { html, nothing, type TemplateResult } from 'lit';
import type { Answer } from '../../api/generate.ts';
import type { Child } from '../../elements/child.ts';
import { formatCount, formatNumber } from '../../elements/format.ts';
import { serviceErrorPanel } from '../../elements/parts.ts';
import type { Exchange, Side } from '../../state/playground/exchange.ts';
import { differences, type Piece } from './differences.ts';
import './answer-text.ts';

/** What can be done with an exchange; `null` where it cannot. */
export interface ExchangeActions {
  readonly edit: (() => void) | null;
  readonly regenerate: (() => void) | null;
  /** Answers again with twice as many tokens. */
  readonly raise: (() => void) | null;
}

/** A prompt with its answer, or with two answers side by side. @param editor shown in place of the prompt. */
export function exchangeView(
  { prompt, sides }: Exchange,
  { edit, regenerate, raise }: ExchangeActions,
  editor: TemplateResult | null,
): TemplateResult {
  const isPair = sides.length > 1;
  const isCut = sides.some(({ answer }) => answer?.isCut);
  const marked = isPair ? compared(sides) : null;
  return html`<article class="exchange">
    ${
      editor ??
      html`<div class="asked-row">
        <p class="asked wrap"><bdi>${prompt}</bdi></p>
        ${edit === null ? nothing : html`<button type="button" class="tool" @click=${edit}>Edit</button>`}
      </div>`
    }
    <div class="sides" data-two=${isPair ? 'yes' : nothing}>
      ${sides.map((side, index) => sideView(side, isPair ? 'AB'.charAt(index) : '', marked?.pieces?.[index]))}
    </div>
    ${marked === null ? nothing : html`<p class="hint">${marked.words}</p>`}
    ${
      regenerate === null
        ? nothing
        : html`<div class="row">
            <button type="button" class="tool" @click=${regenerate}>Regenerate</button>
            ${raise === null || !isCut ? nothing : html`<button type="button" class="tool" @click=${raise}>Raise the limit</button>`}
          </div>`
    }
  </article>`;
}

interface Compared {
  readonly words: string;
  readonly pieces: ReturnType<typeof differences>;
}

/** Comparisons of answers that are complete. */
const comparisons = new WeakMap<readonly Side[], Compared>();

function compared(sides: readonly Side[]): Compared | null {
  const [a, b] = sides;
  if (a === undefined || b === undefined || sides.some(({ busy, error }) => busy || error !== null))
    return null;
  let known = comparisons.get(sides);
  if (known === undefined) {
    const pieces = differences(a.text.trim(), b.text.trim());
    const isEqual = a.text.trim() === b.text.trim();
    const words = isEqual
      ? 'Both answers are the same.'
      : pieces === null
        ? 'The answers have little in common.'
        : 'Words that only one answer has are marked.';
    known = { words, pieces };
    comparisons.set(sides, known);
  }
  return known;
}

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

const withMarks = (pieces: readonly Piece[]): Child =>
  pieces.map(({ text, differs }) => (differs ? html`<mark>${text}</mark>` : text));

function sideView(side: Side, letter: string, pieces: readonly Piece[] | undefined): TemplateResult {
  const { answer, text, reasoning, busy, error } = side;
  const isFull = error?.detail.includes('context_length_exceeded') ?? false;
  return html`<div class="answer">
    <p class="eyebrow wrap">${letter === '' ? nothing : html`<b>${letter}</b> · `}<bdi>${side.name}</bdi></p>
    <div>
    ${
      reasoning
        ? html`<details class="fold"><summary>${busy && text === '' ? 'Thinking…' : 'Thoughts'}</summary><p class="wrap hint"><bdi>${reasoning}</bdi></p></details>`
        : nothing
    }
    ${
      error === null
        ? pieces === undefined
          ? html`<hone-answer-text .text=${text} .busy=${busy}></hone-answer-text>`
          : html`<p class="wrap answer-text"><bdi>${withMarks(pieces)}</bdi></p>`
        : serviceErrorPanel(
            'Generation failed',
            error,
            isFull ? 'Start a new chat, or shorten the prompt.' : undefined,
          )
    }
    </div>
    <div class="row between wrap-row">
      <p class="hint tabular">
        ${busy ? (text === '' && !reasoning ? side.first : 'generating…') : nothing} ${side.stopped ? 'stopped' : nothing}
        ${answer?.isCut ? 'cut off at the limit of new tokens · ' : nothing}
        ${text === '' && answer !== null ? 'empty answer · ' : nothing} ${answer === null ? nothing : figuresOf(answer)}
      </p>
      ${busy || text === '' ? nothing : html`<hone-copy .text=${text.trim()} label="Copy answer"></hone-copy>`}
    </div>
  </div>`;
}
