import { type Markup, markup } from './markup.ts';

/** A line of a chart: its points by step, those without a value left out. */
export interface Line {
  readonly name: string;
  readonly points: readonly { readonly step: number; readonly value: number }[];
  /** Evaluations, which are few, have dots. */
  readonly hasDots?: boolean;
}

/** The numbers among what is read of some rows, by their step. */
export const pointsOf = <Row extends { readonly step: number }>(
  rows: readonly Row[],
  read: (row: Row) => unknown,
): Line['points'] =>
  rows.flatMap((row) => {
    const value = read(row);
    return typeof value === 'number' ? [{ step: row.step, value }] : [];
  });

/** The section of those charts that have a point; `null` if none has. */
export function charts(drawn: readonly (Markup | null)[]): Markup | null {
  const found = drawn.filter((chart) => chart !== null);
  return found.length === 0
    ? null
    : markup`<section><h2>Charts</h2><div class="charts">${found}</div></section>`;
}

const size = { width: 480, height: 220, left: 56, right: 16, top: 12, bottom: 28 } as const;
/** Each point of a long line would be less than a pixel wide. */
const mostPoints = 600;
const tickCount = 4;

/** Round numbers that divide a range into about `tickCount` parts: 1, 2 or 5 times a power of ten apart. */
export function ticksOf(low: number, high: number): number[] {
  const rough = (high - low) / tickCount;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((factor) => factor * power >= rough * 0.99) ?? 10) * power;
  const [first, last] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
  return Array.from({ length: last - first + 1 }, (_, index) =>
    Number(((first + index) * step).toPrecision(12)),
  );
}

/** The same points, but the mean of those that follow each other where there are too many to be drawn. */
export function thinned(points: Line['points']): Line['points'] {
  const group = Math.ceil(points.length / mostPoints);
  if (group <= 1) return points;
  return Array.from({ length: Math.ceil(points.length / group) }, (_, index) => {
    const part = points.slice(index * group, (index + 1) * group);
    const total = part.reduce((sum, { value }) => sum + value, 0);
    return { step: (part.at(-1) as { step: number }).step, value: total / part.length };
  });
}

/** The smallest and largest of the numbers, made apart if they are equal. */
function rangeOf(values: readonly number[]): readonly [number, number] {
  const [low, high] = values.reduce(
    ([least, most], value) => [Math.min(least, value), Math.max(most, value)],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  );
  const spare = low === high ? Math.abs(low) / 2 || 1 : 0;
  return [low - spare, high + spare];
}

/** A chart over the steps as SVG; `null` where no line has a point. */
export function lineChart(heading: string, lines: readonly Line[]): Markup | null {
  const drawn = lines.map((line) => ({ ...line, points: thinned(line.points) }));
  const every = drawn.flatMap(({ points }) => points);
  if (every.length === 0) return null;
  const [firstStep, lastStep] = rangeOf(every.map(({ step }) => step));
  const [low, high] = rangeOf(every.map(({ value }) => value));
  const { width, height, left, right, top, bottom } = size;
  const x = (step: number) =>
    (left + ((step - firstStep) / (lastStep - firstStep)) * (width - left - right)).toFixed(1);
  const y = (value: number) =>
    (height - bottom - ((value - low) / (high - low)) * (height - top - bottom)).toFixed(1);
  return markup`<figure>
<figcaption>${heading}<span class="legend">${drawn.map(({ name, points }, index) => (points.length === 0 ? markup`` : markup`<span class="line-${index}"><bdi>${name}</bdi></span>`))}</span></figcaption>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${heading} by step, from ${low.toPrecision(3)} to ${high.toPrecision(3)}">
${ticksOf(low, high).map(
  (tick) =>
    markup`<path class="grid" d="M${left} ${y(tick)}H${width - right}"/><text x="${left - 8}" y="${y(tick)}" class="value">${Number(tick.toPrecision(4))}</text>`,
)}
${ticksOf(firstStep, lastStep)
  .filter(Number.isInteger)
  .map((tick) => markup`<text x="${x(tick)}" y="${height - 8}" class="step">${tick}</text>`)}
${drawn.map(({ points, hasDots = false }, index) => {
  if (points.length === 0) return markup``;
  const path = points.map(({ step, value }) => `${x(step)} ${y(value)}`).join('L');
  const dots = hasDots ? points : [];
  return markup`<path class="curve line-${index}" d="M${path}"/>${dots.map(({ step, value }) => markup`<circle class="line-${index}" cx="${x(step)}" cy="${y(value)}" r="3"/>`)}`;
})}
</svg>
</figure>`;
}
