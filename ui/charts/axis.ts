import type uPlot from 'uplot';
import { formatCount, formatNumber } from '../elements/format.ts';
import type { XName } from '../state/runs/chart-options.ts';

/** An x axis: what it counts, and its numbers. */
export interface Axis {
  readonly title: string;
  /** The name of its column in a file. */
  readonly column: string;
  readonly format: (value: number) => string;
  /** Spacings of its ticks, where not any number will do. */
  readonly increments?: readonly number[];
  /** Shown in units of time. */
  readonly isTime?: boolean;
}

const whole = [1, 10, 100, 1e3, 1e4, 1e5, 1e6].flatMap((unit) => [unit, 2 * unit, 5 * unit]);

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
  epoch: { title: 'Epoch', column: 'epoch', format: (value) => formatNumber(value) },
  time: {
    title: 'Training time',
    column: 'training_seconds',
    format: (value) => formatClock(value),
    isTime: true,
  },
};

/** The uPlot options of an x axis: ticks and title. */
export function xTicks({ title, increments, isTime }: Axis): Pick<uPlot.Axis, 'incrs' | 'label' | 'values'> {
  if (!isTime) return { label: title, ...(increments === undefined ? {} : { incrs: [...increments] }) };
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

/** A time in hours, minutes and seconds, such as 1:02:03 or 2:03. */
export function formatClock(seconds: number): string {
  if (seconds < 60) return `${formatNumber(Math.round(seconds * 10) / 10)} s`;
  const all = Math.round(seconds);
  const two = (part: number) => String(part).padStart(2, '0');
  const [hours, minutes] = [Math.floor(all / 3600), Math.floor(all / 60) % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(all % 60)}` : `${minutes}:${two(all % 60)}`;
}
