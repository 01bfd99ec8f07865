import { html, nothing, type TemplateResult } from 'lit';
import type { Exchange, Result, Side } from '../../state/playground/exchange.ts';
import { type AnswerActions, answerView } from './answer-view.ts';
import { sideLetters } from './answerer-fields.ts';
import { differences } from './differences.ts';

/** What can be done with an exchange; `null` where it cannot. */
export interface ExchangeActions {
  readonly edit: (() => void) | null;
  readonly regenerate: (() => void) | null;
  /** Has the answers go on that were cut at the limit. */
  readonly goOn: (() => void) | null;
  /** Answers again with twice as many tokens. */
  readonly raise: (() => void) | null;
  /** Shows the version before or after it. */
  readonly step: ((by: -1 | 1) => void) | null;
  /** What can be done with one of its answers. */
  readonly ofAnswer: (side: Side, index: number) => AnswerActions;
}

/** The place of an exchange among its versions. */
export interface Version {
  readonly number: number;
  readonly count: number;
}

/** What asked, with its answer, or with up to four side by side. @param editor shown in place of what asked. */
export function exchangeView(
  { prompt, results, sides }: Exchange,
  version: Version,
  actions: ExchangeActions,
  editor: TemplateResult | null,
): TemplateResult {
  const { edit, ofAnswer } = actions;
  const isCompared = sides.length > 1;
  const marked = isCompared ? compared(sides) : null;
  return html`<article class="exchange">
    ${
      editor ??
      html`<div class="asked-row">
        ${results.length === 0 ? html`<p class="asked wrap"><bdi>${prompt}</bdi></p>` : html`<div class="asked">${results.map(resultView)}</div>`}
        ${edit === null ? nothing : html`<button type="button" class="tool" @click=${edit}>Edit</button>`}
      </div>`
    }
    <div class="sides" data-count=${sides.length}>
      ${sides.map((side, index) =>
        answerView(
          side,
          isCompared ? (sideLetters[index] ?? '') : '',
          marked?.pieces?.[index],
          ofAnswer(side, index),
        ),
      )}
    </div>
    ${marked === null ? nothing : html`<p class="hint">${marked.words}</p>`} ${toolsOf(sides, version, actions)}
  </article>`;
}

const resultView = ({ name, content }: Result) => html`<p class="eyebrow">Result of <bdi>${name}</bdi></p>
  <p class="wrap">${content === '' ? html`<span class="hint">empty</span>` : html`<bdi>${content}</bdi>`}</p>`;

function toolsOf(
  sides: readonly Side[],
  { number, count }: Version,
  { regenerate, goOn, raise, step }: ExchangeActions,
): TemplateResult | typeof nothing {
  const isCut = sides.some(({ answer }) => answer?.isCut);
  const tool = (name: string, act: (() => void) | null) =>
    act === null ? nothing : html`<button type="button" class="tool" @click=${act}>${name}</button>`;
  if (regenerate === null && count < 2) return nothing;
  return html`<div class="row wrap-row">
    ${isCut ? tool('Continue', goOn) : nothing} ${tool('Regenerate', regenerate)}
    ${isCut ? tool('Raise the limit', raise) : nothing}
    ${
      count < 2
        ? nothing
        : html`<span class="row versions" role="group" aria-label="Versions">
            ${stepButton('Previous version', '‹', number > 1 && step !== null, () => step?.(-1))}
            <span class="hint tabular">${number}/${count}</span>
            ${stepButton('Next version', '›', number < count && step !== null, () => step?.(1))}
          </span>`
    }
  </div>`;
}

const stepButton = (name: string, sign: string, isPossible: boolean, act: () => void) => html`<button
  type="button"
  class="tool"
  aria-label=${name}
  ?disabled=${!isPossible}
  @click=${act}
>
  <span aria-hidden="true">${sign}</span>
</button>`;

interface Compared {
  readonly texts: readonly string[];
  readonly words: string;
  readonly pieces: ReturnType<typeof differences>;
}

/** Comparisons of answers that are complete. */
const comparisons = new WeakMap<readonly Side[], Compared>();

function compared(sides: readonly Side[]): Compared | null {
  if (sides.some(({ busy, error }) => busy || error !== null)) return null;
  const hasCalls = sides.some(({ calls = [] }) => calls.length > 0);
  const texts = sides.map(({ text, calls = [] }) =>
    [text.trim(), ...calls.map(({ name, arguments: given }) => `${name} ${given}`)].join('\n'),
  );
  let known = comparisons.get(sides);
  // An answer may have gone on.
  if (known === undefined || known.texts.some((text, index) => text !== texts[index])) {
    known = { texts, ...(hasCalls ? { words: sameWords(texts), pieces: null } : comparisonOf(texts)) };
    comparisons.set(sides, known);
  }
  return known;
}

/** Words are marked in a pair; of more answers it is told which are the same. */
function comparisonOf(texts: readonly string[]): Omit<Compared, 'texts'> {
  const [a = '', b = '', ...more] = texts;
  if (more.length > 0) return { words: sameWords(texts), pieces: null };
  const pieces = differences(a, b);
  const words =
    a === b
      ? 'Both answers are the same.'
      : pieces === null
        ? 'The answers have little in common.'
        : 'Words that only one answer has are marked.';
  return { words, pieces };
}

function sameWords(texts: readonly string[]): string {
  const byText = new Map<string, string[]>();
  for (const [index, text] of texts.entries())
    byText.set(text, [...(byText.get(text) ?? []), sideLetters[index] ?? '']);
  if (byText.size === 1) return 'All answers are the same.';
  const same = [...byText.values()].filter((letters) => letters.length > 1);
  return same.length === 0
    ? 'All answers differ.'
    : same.map((letters) => `${letters.join(' and ')} are the same.`).join(' ');
}
