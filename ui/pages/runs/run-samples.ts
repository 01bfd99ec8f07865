import { html, type TemplateResult } from 'lit';
import type { LogFrame } from '../../api/frames.ts';
import { formatNumber } from '../../elements/format.ts';
import { empty } from '../../elements/parts.ts';
import type { Run } from '../../state/runs/run.ts';

/** An answer and the steps during which it did not change, or the exported file that gave it. */
interface Stretch {
  readonly text: string;
  readonly from: number;
  to: number;
  readonly file: string | undefined;
  readonly scores: LogFrame['scores'];
}

function nameOf({ from, to, file }: Stretch): string {
  if (file !== undefined) return `${file} file`;
  if (from === to) return from === 0 ? 'Base model' : `Step ${from}`;
  return `${from === 0 ? 'Base model' : `Steps ${from}`} to ${from === 0 ? `step ${to}` : to}`;
}

/** The scores by graders. */
const scoresText = ({ scores = {} }: Stretch): string =>
  Object.entries(scores)
    .map(([name, score]) => ` · ${name} ${score === null ? 'not scored' : formatNumber(score)}`)
    .join('');

/** How the answers to the sample prompts changed during training. */
export function runSamples(run: Run): TemplateResult {
  const prompts = new Map<string, Stretch[]>();
  for (const event of run.events) {
    if (event.type !== 'log' || event.kind !== 'sample') continue;
    const { prompt = '', text = '', step = 0, file, scores } = event as LogFrame;
    const stretches = prompts.get(prompt) ?? [];
    const last = stretches.at(-1);
    if (last?.text === text && last.file === file) last.to = step;
    else stretches.push({ text, from: step, to: step, file, scores });
    prompts.set(prompt, stretches);
  }
  if (prompts.size === 0) {
    return empty(
      'No samples yet',
      'Add “Sample prompts” when you start a run to see how the answers change during training.',
    );
  }
  return html`<h2 class="off-screen">Samples</h2>
    <div class="samples">
    ${[...prompts].map(
      ([prompt, stretches]) => html`<article class="sample">
        <h3 class="wrap"><bdi>${prompt}</bdi></h3>
        <ol class="stretches">
          ${stretches
            .slice()
            .reverse()
            .map(
              (stretch) => html`<li>
                <span class="eyebrow tabular">${nameOf(stretch)}${scoresText(stretch)}</span>
                <span class="wrap sample-text"><bdi>${stretch.text === '' ? '(empty answer)' : stretch.text}</bdi></span>
              </li>`,
            )}
        </ol>
      </article>`,
    )}
  </div>`;
}
