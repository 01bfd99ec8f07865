import type uPlot from 'uplot';
import { type Format, formatCount, formatNumber } from '../elements/format.ts';
import type { XName } from '../state/runs/chart-options.ts';

/** An x axis: what it counts, and its numbers. */
export interface Axis {
  readonly title: string;
  /** The name of its column in a file. */
  readonly column: string;
  readonly format: Format;
  /** Spacings of its ticks, where not any number will do. */
  readonly increments?: readonly number[];
  /** Shown in units of time. */
  readonly isTime?: boolean;
}

/** Spacings of ticks at whole numbers. */
export const whole = [1, 10, 100, 1e3, 1e4, 1e5, 1e6].flatMap((unit) => [unit, 2 * unit, 5 * unit]);

/** An axis of whole numbers. */
export const counting = (title: string): Axis => ({
  title,
  column: title.toLowerCase(),
  format: formatCount,
  increments: whole,
});

const units = [
  { name: 's', seconds: 1 },
  { name: 'min', seconds: 60 },
  { name: 'h', seconds: 3600 },
  { name: 'd', seconds: 86_400 },
] as const;
/** A unit is used from this many of it. */
const least = 3;

/** The largest unit in which a time is not a small number. */
const unitOf = (seconds: number) =>
  units.findLast((unit) => seconds >= least * unit.seconds) ?? (units[0] as (typeof units)[number]);

export const axes: Readonly<Record<XName, Axis>> = {
  step: counting('Step'),
  epoch: { title: 'Epoch', column: 'epoch', format: formatNumber },
  time: {
    title: 'Training time',
    column: 'training_seconds',
    format: (value) => (value == null ? '–' : formatClock(value)),
    isTime: true,
  },
};

/** The uPlot options of an x axis: ticks and title. */
export function xTicks(axis: Axis): Pick<uPlot.Axis, 'incrs' | 'label' | 'values'> {
  const { title, increments, isTime } = axis;
  if (!isTime) {
    return {
      label: title,
      // uPlot takes `undefined` for a value.
      ...(increments === undefined ? {} : { incrs: [...increments] }),
      values: (_plot, ticks, _axis, _space, by) => tickTexts(ticks, by, axis.format),
    };
  }
  const unit = (plot: uPlot) => unitOf(plot.scales.x?.max ?? 0);
  return {
    label: (plot) => `${title} (${unit(plot).name})`,
    incrs: (plot) =>
      whole
        .concat(0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
        .sort((a, b) => a - b)
        .map((by) => by * unit(plot).seconds),
    values: (plot, ticks) => ticks.map((tick) => formatNumber(tick / unit(plot).seconds, 6)),
  };
}

/** What ticks may always have, and what a number can have. */
const [fewestDigits, mostDigits] = [3, 15];

/** The texts of ticks that are a distance apart, with enough digits to tell each from the next. */
export function tickTexts(ticks: readonly number[], by: number, format: Format): string[] {
  const digits = digitsFor(Math.max(...ticks.map(Math.abs)), by);
  return ticks.map((tick) => format(tick, digits));
}

/** The significant digits of numbers up to a size that differ by no less than a distance. */
export function digitsFor(size: number, by: number): number {
  if (!(by > 0)) return fewestDigits;
  // One more for a distance such as 0.25.
  const digits = Math.floor(Math.log10(size)) - Math.floor(Math.log10(by)) + 2;
  return Math.min(mostDigits, Math.max(fewestDigits, digits));
}

/** A time in hours, minutes and seconds, such as 1:02:03 or 2:03. */
export function formatClock(seconds: number): string {
  if (seconds < 60) return `${formatNumber(Math.round(seconds * 10) / 10)} s`;
  const all = Math.round(seconds);
  const two = (part: number) => String(part).padStart(2, '0');
  const [hours, minutes] = [Math.floor(all / 3600), Math.floor(all / 60) % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(all % 60)}` : `${minutes}:${two(all % 60)}`;
}
