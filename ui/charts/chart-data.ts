import type { Format } from '../elements/format.ts';
import type { Axis } from './axis.ts';
import type { Values } from './smoothing.ts';

/** Values along the x axis, which never decrease. */
export interface ChartX {
  readonly axis: Axis;
  readonly values: readonly number[];
}

/** One line of a chart. */
export interface ChartLine {
  readonly label: string;
  /** The custom property that holds its colour. */
  readonly colour: string;
  readonly values: Values;
  /** Noisy: where charts are smoothed, drawn pale behind its moving average. */
  readonly smooth?: boolean;
  /** Drawn as connected dots: only a few steps have a value. */
  readonly sparse?: boolean;
  /** Connected across steps without a value. */
  readonly joined?: boolean;
  /** With a shaded area under it. */
  readonly filled?: boolean;
  /** Drawn as bars, each from its step to the next; the last step ends the last bar. */
  readonly bars?: boolean;
}

/** What a chart shows. */
export interface ChartData {
  readonly heading: string;
  /** The x axis that is shown, then others of the same points. */
  readonly xs: readonly ChartX[];
  readonly lines: readonly ChartLine[];
  readonly format: Format;
}

/** A chart on the page. */
export interface ShownChart extends ChartData, HTMLElement {
  /** The values along the x axis that is shown. */
  readonly x: readonly number[];
  /** The chart as it looks now, drawn even if it cannot be seen; `null` if it has no place on the page. */
  drawn(): HTMLCanvasElement | null;
}
