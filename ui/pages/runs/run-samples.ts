import { html, type TemplateResult } from 'lit';
import type { LogFrame } from '../../api/frames.ts';
import { empty } from '../../elements/parts.ts';
import type { Run } from '../../state/run.ts';

/** An answer and the steps during which it did not change. */
interface Stretch {
  readonly text: string;
  readonly from: number;
  to: number;
}

/** How the answers to the sample prompts changed during training. */
export function runSamples(run: Run): TemplateResult {
  const prompts = new Map<string, Stretch[]>();
  for (const event of run.events) {
    if (event.type !== 'log' || event.kind !== 'sample') continue;
    const { prompt = '', text = '', step = 0 } = event as LogFrame;
    const stretches = prompts.get(prompt) ?? [];
    const last = stretches.at(-1);
    if (last?.text === text) last.to = step;
    else stretches.push({ text, from: step, to: step });
    prompts.set(prompt, stretches);
  }
  if (prompts.size === 0) {
    return empty(
      'No samples yet',
      'Add “Sample prompts” when you start a run to see how the answers change during training.',
    );
  }
  return html`<div class="samples">
    ${[...prompts].map(
      ([prompt, stretches]) => html`<article class="sample">
        <h3 class="wrap"><bdi>${prompt}</bdi></h3>
        <ol class="stretches">
          ${stretches
            .slice()
            .reverse()
            .map(
              ({ text, from, to }) => html`<li>
                <span class="eyebrow tabular">${from === to ? `Step ${from}` : `Steps ${from} to ${to}`}</span>
                <span class="wrap sample-text"><bdi>${text === '' ? '(empty answer)' : text}</bdi></span>
              </li>`,
            )}
        </ol>
      </article>`,
    )}
  </div>`;
}
