import { html, nothing, type TemplateResult } from 'lit';
import type { Verdict } from '../../../api/types.ts';
import { formatNumber } from '../../../elements/format.ts';

type Prompt = Verdict['prompts'][number];

/** A prompt with the answers of both models, and the one that is wanted. */
export function verdictPrompt({
  prompt,
  reference,
  test,
  trained,
  base,
  tuned,
  checkpoints,
  file,
}: Prompt): TemplateResult {
  const others = [
    ...checkpoints.map(({ step, text }) => ({ name: `Step ${step}`, text })),
    ...(file === null ? [] : [{ name: `${file.quantization} file`, text: file.text }]),
  ];
  return html`<article class="verdict-prompt">
    <h3 class="asked wrap"><bdi>${prompt}</bdi>${trained ? html` <span class="tag">trained on</span>` : nothing}</h3>
    <div class="sides" data-count=${reference === null ? 2 : 3}>
      ${answerView(`Base model${testText(test, 'base')}`, base)}
      ${answerView(`Fine-tuned${testText(test, 'tuned')}`, tuned, true)}
      ${reference === null ? nothing : answerView('Reference', reference)}
    </div>
    ${
      others.length === 0
        ? nothing
        : html`<details class="fold bare">
            <summary>Checkpoints and file</summary>
            <ol class="stretches">
              ${others.map(
                ({ name, text }) => html`<li>
                  <span class="eyebrow tabular">${name}</span>
                  <span class="wrap sample-text"><bdi>${answerText(text)}</bdi></span>
                </li>`,
              )}
            </ol>
          </details>`
    }
  </article>`;
}

/** How many of the prompts with a test pass it: "3 of 4 prompts pass, 1 before"; empty without tests. */
export function passedText(prompts: readonly Prompt[]): string {
  const tests = prompts.flatMap(({ test }) => test ?? []);
  if (tests.length === 0) return '';
  const passing = (side: Side) => tests.filter((test) => passes(test, side)).length;
  return `${passing('tuned')} of ${tests.length} prompts pass, ${passing('base')} before`;
}

type Side = 'base' | 'tuned';
const passes = (test: NonNullable<Prompt['test']>, side: Side) => (test[side] ?? -Infinity) >= test.threshold;

/** What the test of a prompt says of an answer. */
function testText(test: Prompt['test'], side: Side): string {
  if (test === null) return '';
  const { grader, [side]: score } = test;
  const told = grader === null ? '' : ` · ${grader} ${score === null ? 'not scored' : formatNumber(score)}`;
  return `${told} · ${passes(test, side) ? 'passed' : 'not passed'}`;
}

function answerView(title: string, text: string | null, marked = false): TemplateResult {
  return html`<div class="answer" data-marked=${marked ? 'yes' : nothing}>
    <p class="eyebrow">${title}</p>
    <p class="wrap answer-text"><bdi>${text === null ? 'not asked' : answerText(text)}</bdi></p>
  </div>`;
}

const answerText = (text: string) => (text === '' ? '(empty answer)' : text);
