import { html, nothing, type TemplateResult } from 'lit';
import type { Verdict } from '../../api/types.ts';

type Prompt = Verdict['prompts'][number];

/** A prompt with the answers of both models, and the one that is wanted. */
export function verdictPrompt({
  prompt,
  reference,
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
      ${answerView('Base model', base)} ${answerView('Fine-tuned', tuned, true)}
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

function answerView(title: string, text: string | null, marked = false): TemplateResult {
  return html`<div class="answer" data-marked=${marked ? 'yes' : nothing}>
    <p class="eyebrow">${title}</p>
    <p class="wrap answer-text"><bdi>${text === null ? 'not asked' : answerText(text)}</bdi></p>
  </div>`;
}

const answerText = (text: string) => (text === '' ? '(empty answer)' : text);
