import { html, nothing, svg, type TemplateResult } from 'lit';
import type { AliasSplit } from '../../../api/types.ts';
import { formatCount, formatLatency, formatMoment, formatPercent } from '../../../elements/format.ts';
import { figure, nameText } from '../../../elements/parts.ts';
import { targetWords } from '../../../views/model-select.ts';
import './split-grades.ts';

type Side = AliasSplit['current'];
type Share = NonNullable<Side['liked']>;

/** What two models are compared by: what a share is of, and how the better one is said to be. */
interface Measure {
  readonly of: string;
  readonly better: string;
  /** What there is to do as long as there is nothing to compare. */
  readonly missing: string;
}
const thumbs: Measure = {
  of: 'thumbs up',
  better: 'is liked more',
  missing: 'Both models need answers that are rated.',
};
const scores = (grader: string): Measure => ({
  of: `mean score of ${grader}`,
  better: 'scores higher',
  missing: 'Both models need answers that are graded.',
});

/** A share with its interval, drawn from 0 to 100%. */
function shareBar({ share, low, high }: Share, { of }: Measure): TemplateResult {
  const percent = (part: number) => `${(100 * part).toFixed(1)}%`;
  const text = `${formatPercent(share)} ${of}; between ${formatPercent(low)} and ${formatPercent(high)} with 95% confidence`;
  return html`<svg class="share-bar" role="img" aria-label=${text}>
      ${svg`<rect class="track" y="4" width="100%" height="8" />
        <rect class="interval" x=${percent(low)} y="4" width=${percent(high - low)} height="8" />
        <rect class="share" x=${percent(share)} width="3" height="16" />`}
    </svg>
    <p class="hint tabular">
      <b>${formatPercent(share)}</b> ${of} (${formatPercent(low)} to ${formatPercent(high)} with 95% confidence)
    </p>`;
}

function sideView(options: {
  readonly model: string | null;
  readonly percent: number;
  readonly side: Side;
  readonly isBetter: boolean;
  readonly grader: string | null;
}): TemplateResult {
  const { model, percent, side, isBetter, grader } = options;
  const { answers, up, down, liked, milliseconds, score } = side;
  return html`<section class="split-side" data-better=${isBetter ? 'yes' : 'no'}>
    <div class="row between wrap-row">
      <h4>${targetName(model)}</h4>
      <span class="tag">${percent}% of conversations</span>
    </div>
    <dl class="figures-grid">
      ${figure('Answers', formatCount(answers))} ${figure('Thumbs up', formatCount(up))}
      ${figure('Thumbs down', formatCount(down))}
      ${figure('Median time', milliseconds === null ? '–' : formatLatency(milliseconds))}
    </dl>
    ${liked === null ? html`<p class="hint">No rated answers yet.</p>` : shareBar(liked, thumbs)}
    ${grader === null ? nothing : score === null ? html`<p class="hint">No graded answers yet.</p>` : shareBar(score, scores(grader))}
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

/** Which of the two models is better by a measure, and how sure that is. */
function judgement(
  [one, other]: readonly [TemplateResult, TemplateResult],
  { difference, better }: Pick<AliasSplit, 'difference' | 'better'>,
  { of, better: isBetter, missing }: Measure,
): TemplateResult {
  if (difference === null) return html`<p><b>Nothing to compare yet.</b> ${missing}</p>`;
  const told = (sign: 1 | -1) => {
    const ends = [sign * difference.low, sign * difference.high].sort((a, b) => a - b);
    return `${points(sign * difference.share)} points of ${of} (${ends.map(points).join(' to ')} with 95% confidence)`;
  };
  if (better === 'candidate') return html`<p><b>${one} ${isBetter}</b> than ${other}: ${told(1)}.</p>`;
  if (better === 'current') return html`<p><b>${other} ${isBetter}</b> than ${one}: ${told(-1)}.</p>`;
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
  const { model, percent, better, grader } = split;
  const names = [targetName(model), targetName(current)] as const;
  const side = (which: 'current' | 'candidate', one: string | null, share: number) =>
    sideView({
      model: one,
      percent: share,
      side: split[which],
      isBetter: better === which,
      grader: grader?.name ?? null,
    });
  return html`<div class="column" role="group" aria-label="Split of ${name}">
    <h3>Split since ${formatMoment(split.started_at)}</h3>
    <div class="split-sides">
      ${side('current', current, 100 - percent)} ${side('candidate', model, percent)}
    </div>
    <div role="status">
      ${judgement(names, split, thumbs)} ${grader === null ? nothing : judgement(names, grader, scores(grader.name))}
    </div>
    ${grader === null ? nothing : html`<hone-split-grades name=${name} .grader=${grader}></hone-split-grades>`}
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
