import { html, nothing, type TemplateResult } from 'lit';
import type { Answer } from '../../api/generate.ts';
import { formatCount, formatNumber } from '../../elements/format.ts';
import { serviceErrorPanel } from '../../elements/parts.ts';
import type { Exchange, Side } from '../../state/conversation.ts';

/** A prompt with its answer, or with both answers side by side. */
export function exchangeView({ prompt, tuned, base }: Exchange): TemplateResult {
  return html`<article class="exchange">
    <p class="asked wrap"><bdi>${prompt}</bdi></p>
    <div class="sides" data-two=${base === null ? nothing : 'yes'}>
      ${sideView(base === null ? '' : 'Fine-tuned', tuned)} ${base === null ? nothing : sideView('Base model', base)}
    </div>
  </article>`;
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

function sideView(title: string, side: Side): TemplateResult {
  const { answer } = side;
  const speed = answer === null ? null : tokensPerSecond(answer);
  return html`<div class="answer">
    ${title === '' ? nothing : html`<p class="eyebrow">${title}</p>`}
    ${
      side.error === null
        ? html`<p class="wrap answer-text"><bdi>${side.text.trimStart()}</bdi>${side.busy ? html`<i class="caret" aria-hidden="true"></i>` : nothing}</p>`
        : serviceErrorPanel('Generation failed', side.error)
    }
    <p class="hint tabular">
      ${side.busy ? 'generating…' : nothing} ${side.stopped ? 'stopped' : nothing}
      ${side.text === '' && answer !== null ? 'empty answer · ' : nothing}
      ${
        answer === null
          ? nothing
          : [
              answer.tokens === null ? null : `${formatCount(answer.tokens)} tokens`,
              speed === null ? null : `${formatNumber(speed, 3)} tokens/s`,
              answer.firstTokenMs === null
                ? null
                : `first token after ${formatCount(answer.firstTokenMs)} ms`,
            ]
              .filter(Boolean)
              .join(' · ')
      }
    </p>
  </div>`;
}
