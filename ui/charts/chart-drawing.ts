import uPlot from 'uplot';
import type { Format } from '../elements/format.ts';
import { type Axis, tickTexts, whole, xTicks } from './axis.ts';
import type { ChartLine } from './chart-data.ts';
import { robustRange } from './robust-range.ts';
import type { Values } from './smoothing.ts';

/** What is drawn of a line: its values or their moving average, which has the values pale behind it. */
export interface Layer {
  readonly line: ChartLine;
  readonly values: Values;
  readonly isPale: boolean;
}

/** Width of the value axis in pixels: a gap, and about this much per character. */
const tickGap = 12;
const tickEm = 6.6;
/** Height of an axis title in pixels. */
const titleSize = 16;
/** Relative error of sums of floating-point numbers. */
const rounding = 1e-9;

/** A line's style, apart from its values. */
export const look = ({ label, colour, smooth, sparse, joined, filled, bars }: ChartLine) =>
  [label, colour, smooth, sparse, joined, filled, bars].join();

/** Bars that touch, to the right of their steps. */
const barPaths: Pick<uPlot.Series, 'paths'> = (() => {
  const paths = uPlot.paths.bars?.({ size: [1, Number.POSITIVE_INFINITY], align: 1 });
  return paths === undefined ? {} : { paths };
})();

/** The uPlot options of a chart, in the current theme's colours. */
export function drawing(
  host: HTMLElement,
  area: HTMLElement,
  {
    axis: shown,
    title,
    layers,
    format,
    isLog,
    isRobust,
    onRange,
    sync,
  }: {
    readonly axis: Axis;
    /** Of the value axis. */
    readonly title: string;
    readonly layers: readonly Layer[];
    readonly format: Format;
    readonly isLog: boolean;
    /** Whether the range leaves out outliers; a logarithmic one shows everything. */
    readonly isRobust: boolean;
    /** Called with whether anything is outside the range. */
    readonly onRange: (isCut: boolean) => void;
    /** Charts with the same key share their pointer. */
    readonly sync: string;
  },
): uPlot.Options {
  const style = getComputedStyle(host);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour('--text-muted'),
    font: `11px ${style.fontFamily}`,
    labelFont: `11px ${style.fontFamily}`,
    labelSize: titleSize,
    labelGap: 2,
    grid: { stroke: colour('--chart-grid'), width: 1 },
    ticks: { show: false },
  };
  // The moving averages are within the range of what they average, or near an outlier.
  const measured = layers.flatMap(({ line, values }, index) => (values === line.values ? [index] : []));
  const isBars = layers.some(({ line }) => line.bars);
  return {
    width: Math.max(80, area.clientWidth),
    height: Math.max(80, area.clientHeight),
    padding: [10, 16, 0, 0],
    legend: { show: false },
    cursor: {
      ...(sync === '' ? {} : { sync: { key: sync, setSeries: false } }),
      points: { size: 7 },
      drag: { x: true, y: false, setScale: false },
    },
    scales: {
      x: { time: false },
      y: isLog
        ? { distr: 3 }
        : {
            range: (plot, lowest, highest) => {
              if (lowest == null || highest == null) return [0, 1];
              const all = { low: lowest, high: highest };
              const [from, to] = plot.series[0]?.idxs ?? [0, 0];
              const lines = measured.map((index) => plot.data[index + 1] as Values);
              const { low, high } = isRobust ? robustRange(lines, from, to, all) : all;
              const range = padded(isBars ? 0 : low, high);
              onRange(lowest < range[0] || highest > range[1]);
              return range;
            },
          },
    },
    axes: [
      { ...axis, size: 20, gap: 4, space: 60, ...xTicks(shown) },
      {
        ...axis,
        label: title,
        size: (_plot, ticks) => tickGap + tickEm * Math.max(3, ...(ticks ?? []).map((tick) => tick.length)),
        gap: 6,
        // Bars are counts. uPlot takes `undefined` for a value.
        ...(isBars ? { incrs: whole } : {}),
        values: (_plot, ticks, _axis, _space, by) =>
          // A logarithmic axis labels only powers of ten; the others are null.
          isLog ? ticks.map((tick) => (tick === null ? '' : format(tick))) : tickTexts(ticks, by, format),
      },
    ],
    series: [
      {},
      ...layers.map(
        ({ line, isPale }): uPlot.Series => ({
          label: line.label,
          stroke: colour(line.colour),
          width: isPale ? 1 : 1.75,
          alpha: isPale ? 0.38 : 1,
          spanGaps: (line.sparse || line.joined) ?? false,
          ...(line.filled && !isPale ? { fill: (plot) => shade(plot, colour(line.colour)) } : {}),
          ...(line.bars ? { fill: `${colour(line.colour)}66`, ...barPaths } : {}),
          points:
            line.sparse && !isPale ? { show: true, size: 5, fill: colour(line.colour) } : { show: false },
        }),
      ),
    ],
  };
}

/** A gradient that fades towards the bottom. @param colour `#rrggbb`. */
function shade(plot: uPlot, colour: string): CanvasGradient | string {
  const { top, height } = plot.bbox;
  if (!Number.isFinite(top + height)) return 'transparent';
  const gradient = plot.ctx.createLinearGradient(0, top, 0, top + height);
  gradient.addColorStop(0, `${colour}33`);
  gradient.addColorStop(1, `${colour}05`);
  return gradient;
}

/** A padded range, also for equal values. */
function padded(low: number, high: number): [number, number] {
  // A moving average of equal values differs from them by rounding alone.
  if (high - low <= Math.abs(high) * rounding) {
    const around = Math.abs(low) * 0.1 || 1;
    return [low >= 0 ? Math.max(0, low - around) : low - around, high + around];
  }
  const air = (high - low) * 0.06;
  // Start at zero if the lowest value is close to it.
  if (low >= 0 && low < high / 3) return [0, high + air];
  return [low - air, high + air];
}
