import { html, nothing, svg, type TemplateResult } from 'lit';
import type { AliasSplit } from '../../../api/types.ts';
import { formatCount, formatLatency, formatMoment, formatPercent } from '../../../elements/format.ts';
import { figure, nameText } from '../../../elements/parts.ts';
import { targetWords } from '../../../views/model-select.ts';

type Side = AliasSplit['current'];
type Share = NonNullable<Side['liked']>;

/** A share with its interval, drawn from 0 to 100%. */
function shareBar({ share, low, high }: Share): TemplateResult {
  const percent = (part: number) => `${(100 * part).toFixed(1)}%`;
  const text = `${formatPercent(share)} thumbs up; between ${formatPercent(low)} and ${formatPercent(high)} with 95% confidence`;
  return html`<svg class="share-bar" role="img" aria-label=${text}>
      ${svg`<rect class="track" y="4" width="100%" height="8" />
        <rect class="interval" x=${percent(low)} y="4" width=${percent(high - low)} height="8" />
        <rect class="share" x=${percent(share)} width="3" height="16" />`}
    </svg>
    <p class="hint tabular">
      <b>${formatPercent(share)}</b> thumbs up (${formatPercent(low)} to ${formatPercent(high)} with 95% confidence)
    </p>`;
}

function sideView(model: string | null, percent: number, side: Side, isBetter: boolean): TemplateResult {
  const { answers, up, down, liked, milliseconds } = side;
  return html`<section class="split-side" data-better=${isBetter ? 'yes' : 'no'}>
    <div class="row between wrap-row">
      <h4>${targetName(model)}</h4>
      <span class="tag">${percent}% of conversations</span>
    </div>
    <dl class="figures-grid">
      ${figure('Answers', formatCount(answers))} ${figure('Thumbs up', formatCount(up))}
      ${figure('Thumbs down', formatCount(down))}
      ${figure('Mean time', milliseconds === null ? '–' : formatLatency(milliseconds))}
    </dl>
    ${liked === null ? html`<p class="hint">No rated answers yet.</p>` : shareBar(liked)}
  </section>`;
}

/** The name of a model that an alias stands for. */
export const targetName = (model: string | null): TemplateResult =>
  model === null ? html`<span class="muted">a deleted model</span>` : nameText(targetWords(model));

/** Points of percent, with a sign. */
const points = (part: number): string => {
  const rounded = Math.round(100 * part);
  return `${rounded > 0 ? '+' : rounded < 0 ? '−' : ''}${Math.abs(rounded)}`;
};

/** Which of the two models is liked more, and how sure that is. */
function judgement(current: string | null, split: AliasSplit): TemplateResult {
  const { difference, better, model } = split;
  const [one, other] = [targetName(model), targetName(current)];
  if (difference === null)
    return html`<p><b>Nothing to compare yet.</b> Both models need answers that are rated.</p>`;
  const told = (sign: 1 | -1) => {
    const ends = [sign * difference.low, sign * difference.high].sort((a, b) => a - b);
    return `${points(sign * difference.share)} points of thumbs up (${ends.map(points).join(' to ')} with 95% confidence)`;
  };
  if (better === 'candidate') return html`<p><b>${one} is liked more</b> than ${other}: ${told(1)}.</p>`;
  if (better === 'current') return html`<p><b>${other} is liked more</b> than ${one}: ${told(-1)}.</p>`;
  return html`<p><b>Not decided yet.</b> ${one} has ${told(1)} compared with ${other}, which may be chance.</p>`;
}

/** A split of an alias: what was kept of both models, which one is liked more, and what can be done. */
export function splitView(options: {
  readonly name: string;
  readonly current: string | null;
  readonly split: AliasSplit;
  readonly busy: boolean;
  readonly promote: (model: string) => void;
  readonly end: () => void;
}): TemplateResult {
  const { name, current, split, busy, promote, end } = options;
  const { model, percent, better } = split;
  return html`<div class="column" role="group" aria-label="Split of ${name}">
    <h3>Split since ${formatMoment(split.started_at)}</h3>
    <div class="split-sides">
      ${sideView(current, 100 - percent, split.current, better === 'current')}
      ${sideView(model, percent, split.candidate, better === 'candidate')}
    </div>
    <div role="status">${judgement(current, split)}</div>
    <p class="hint">
      Only kept answers count: <a href="/traffic?model=${encodeURIComponent(name)}">rate them in Traffic</a>, or let
      your program send the ratings. Neither shows which model answered.
    </p>
    <div class="row wrap-row">
      ${
        model === null
          ? nothing
          : html`<button type="button" class=${better === 'candidate' ? 'primary' : ''} ?disabled=${busy} @click=${() => promote(model)}>
              Promote ${targetWords(model)}
            </button>`
      }
      <button type="button" class=${better === 'current' ? 'primary' : ''} ?disabled=${busy} @click=${end}>
        End the split
      </button>
    </div>
  </div>`;
}
