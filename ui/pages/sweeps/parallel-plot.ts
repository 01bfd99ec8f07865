import { html, nothing, svg, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { metricName } from '../../../src/contract/training/metric-names.ts';
import type { Sweep, Trial } from '../../api/types.ts';
import { LightElement } from '../../elements/light-element.ts';
import { bestFirst, directionWords, trialValue } from '../../views/sweep-words.ts';
import { type Axis, axesOf } from './axes.ts';

/** Pixels. */
const size = { height: 320, top: 52, bottom: 20, side: 60, leastGap: 112 } as const;
/** How far from the pointer a line may be. */
const reach = 24;
const levels = 5;
/** Letters in a line of an axis's name. */
const nameLetters = 15;

interface Line {
  readonly trial: Trial;
  /** From 0, the best, to 4; `null` before the first evaluation. */
  readonly level: number | null;
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

/**
 * Parallel coordinates: an axis for each setting that varies and one for the metric, a line for each trial. The pointer
 * or the arrow keys highlight a trial, which fires `highlight` with its number. The table of trials has the same figures.
 */
@customElement('hone-parallel-plot')
export class ParallelPlot extends LightElement {
  @property({ attribute: false }) sweep: Sweep | null = null;
  /** The highlighted trial. */
  @property({ attribute: false }) shown: number | null = null;
  @state() private _width = 0;
  private _axes: readonly Axis[] = [];
  private _lines: readonly Line[] = [];
  private readonly _resize = new ResizeObserver(([entry]) => {
    this._width = Math.floor(entry?.contentRect.width ?? 0);
  });

  override connectedCallback(): void {
    super.connectedCallback();
    this._resize.observe(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._resize.disconnect();
  }

  private _show(trial: number | null): void {
    if (trial === this.shown) return;
    this.dispatchEvent(new CustomEvent('highlight', { detail: trial, bubbles: true }));
  }

  /** The line nearest to the pointer, if it is near. */
  private _point(event: PointerEvent): void {
    const { left, top } = (event.currentTarget as Element).getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    const far = this._lines.map((line) => ({ line, gap: Math.abs((heightAt(line, x) ?? -reach) - y) }));
    const nearest = far.reduce<(typeof far)[number] | null>(
      (best, one) => (best === null || one.gap < best.gap ? one : best),
      null,
    );
    this._show(nearest !== null && nearest.gap < reach ? nearest.line.trial.number : null);
  }

  /** Up and down go through the trials, best first. */
  private _key(event: KeyboardEvent): void {
    const by = { ArrowDown: 1, ArrowUp: -1, Escape: 0 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const index = this._lines.findIndex(({ trial }) => trial.number === this.shown);
    const next = index < 0 ? 0 : Math.max(0, Math.min(this._lines.length - 1, index + by));
    this._show(by === 0 ? null : (this._lines[next]?.trial.number ?? null));
  }

  protected override render(): TemplateResult | typeof nothing {
    const { sweep } = this;
    if (sweep === null) return nothing;
    this._axes = axesOf(sweep);
    const width = Math.max(this._width, 2 * size.side + (this._axes.length - 1) * size.leastGap);
    this._lines = linesOf(sweep, this._axes, width);
    const shown = this._lines.find(({ trial }) => trial.number === this.shown);
    return html`<div
        class="scroll-box plot-box"
        tabindex="0"
        role="region"
        aria-label="Parallel coordinates of the trials; arrow keys go through them, and the table of trials has the same figures"
        @keydown=${this._key}
      >
        <svg
          class="plot"
          width=${width}
          height=${size.height}
          viewBox="0 0 ${width} ${size.height}"
          aria-hidden="true"
          data-shown=${shown === undefined ? nothing : 'yes'}
          @pointermove=${this._point}
          @pointerleave=${() => this._show(null)}
        >
          ${this._axes.map((axis, index) => axisMark(axis, placeOf(index, this._axes.length, width)))}
          ${[...this._lines].reverse().map(lineMark)}
          ${this._axes.map((axis, index) => axisWords(axis, placeOf(index, this._axes.length, width)))}
          ${shown === undefined ? nothing : shownMark(shown)}
        </svg>
      </div>
      <p class="row between wrap-row plot-foot">
        <span class="legend-levels muted" aria-hidden="true">
          better ${Array.from({ length: levels }, (_, level) => html`<i data-level=${level}></i>`)} worse
          ${sweep.culling ? html`<span><i class="dashed"></i> stopped early</span>` : nothing}
        </span>
        <span class="note tabular" role="status">
          ${shown === undefined ? `${metricName(sweep.metric)}: ${directionWords(sweep.direction)}, best at the top` : trialWords(shown.trial, this._axes)}
        </span>
      </p>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-parallel-plot': ParallelPlot;
  }
}

const placeOf = (index: number, count: number, width: number) =>
  size.side + (index * (width - 2 * size.side)) / Math.max(1, count - 1);
const yOf = (at: number) => size.top + (1 - at) * (size.height - size.top - size.bottom);
const path = ({ points }: Line) => points.map(({ x, y }, at) => `${at === 0 ? 'M' : 'L'}${x} ${y}`).join('');

/** Best first. */
function linesOf(sweep: Sweep, axes: readonly Axis[], width: number): Line[] {
  const trials = bestFirst(sweep);
  const sign = sweep.direction === 'minimize' ? 1 : -1;
  const values = trials
    .map(trialValue)
    .filter((value) => value !== null)
    .sort((a, b) => sign * (a - b));
  return trials.map((trial) => {
    const value = trialValue(trial);
    const level = value === null ? null : Math.floor((values.indexOf(value) * levels) / values.length);
    const points = axes.flatMap((axis, index) => {
      const at = axis.place(trial);
      return at === null ? [] : [{ x: placeOf(index, axes.length, width), y: yOf(at) }];
    });
    return { trial, level, points };
  });
}

/** The height of a line at `x`; `null` beside it. */
function heightAt({ points }: Line, x: number): number | null {
  const next = points.findIndex((point) => point.x >= x);
  const [from, to] = [points[next - 1], points[next]];
  if (from === undefined || to === undefined) return null;
  return from.y + ((to.y - from.y) * (x - from.x)) / (to.x - from.x);
}

/** A name in lines of a few words. */
function nameLines(name: string): string[] {
  const lines: string[] = [];
  for (const word of name.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && `${last} ${word}`.length <= nameLetters)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

const axisMark = (
  { ticks }: Axis,
  x: number,
) => svg`<line class="plot-axis" x1=${x} x2=${x} y1=${yOf(1)} y2=${yOf(0)}></line>
  ${ticks.map(({ at }) => svg`<line class="plot-axis" x1=${x - 4} x2=${x} y1=${yOf(at)} y2=${yOf(at)}></line>`)}`;

/** What is written at an axis; above the lines. */
function axisWords({ label, isLog, ticks }: Axis, x: number) {
  const lines = nameLines(label);
  const yOfName = (index: number) => size.top - 14 - 14 * (lines.length - 1 - index);
  const scale = svg`<tspan class="plot-scale"> log</tspan>`;
  return svg`${lines.map(
    (words, index) =>
      svg`<text class="plot-name" x=${x} y=${yOfName(index)}>${words}${isLog && index === lines.length - 1 ? scale : nothing}</text>`,
  )}
  ${ticks.map(({ at, text }) => svg`<text class="plot-tick" x=${x - 8} y=${yOf(at) + 4}>${text}</text>`)}`;
}

const isCut = ({ trial: { state } }: Line) => state !== 'completed';

const lineMark = (line: Line) =>
  svg`<path class="plot-line" d=${path(line)} data-level=${line.level ?? nothing} data-cut=${isCut(line) ? 'yes' : nothing}></path>`;

const shownMark = (line: Line) => svg`<g class="plot-shown">
  <path d=${path(line)}></path>
  ${line.points.map(({ x, y }) => svg`<circle cx=${x} cy=${y} r="4"></circle>`)}
</g>`;

const trialWords = (trial: Trial, axes: readonly Axis[]) =>
  html`<b>Trial ${trial.number}</b> · ${axes.map((axis) => `${axis.label} ${axis.text(trial)}`).join(' · ')}`;
