import type { Direction, ParameterValue } from '../../../src/contract/sweeps.ts';
import { metricName } from '../../../src/contract/training/metric-names.ts';
import type { Sweep, Trial } from '../../api/types.ts';
import { digitsFor } from '../../charts/axis.ts';
import { formatNumber } from '../../elements/format.ts';
import { settingLabel, settingText } from '../../settings/setting-values.ts';
import { trialValue } from '../../views/sweep-words.ts';

/** An axis of the plot: a setting that varies, or the metric. */
export interface Axis {
  readonly label: string;
  readonly isLog: boolean;
  /** Where a trial is on it, from 0 at the bottom to 1 at the top; `null` if it has no value. */
  place(trial: Trial): number | null;
  /** A trial's value in words. */
  text(trial: Trial): string;
  readonly ticks: readonly { readonly at: number; readonly text: string }[];
}

type Dimension = Sweep['space'][string];

/** Fewer fit on an axis without touching. */
const mostTicks = 9;
/** Decades closer to an end than this share of the axis are not labelled. */
const apart = 0.09;

/** The axes of a sweep: its settings, then its metric. */
export const axesOf = (sweep: Sweep): Axis[] => [
  ...Object.entries(sweep.space).map(([name, dimension]) => settingAxis(name, dimension)),
  metricAxis(sweep.metric, sweep.direction, sweep.trials_started),
];

/** A setting's value in words. */
export const valueText = (value: ParameterValue | undefined): string =>
  typeof value === 'number' ? formatNumber(value, 3) : settingText(value);

function settingAxis(name: string, dimension: Dimension): Axis {
  const own = (trial: Trial) => trial.parameters[name];
  const scale = 'choices' in dimension ? choiceScale(dimension.choices) : rangeScale(dimension);
  return {
    label: settingLabel(name),
    ...scale,
    place: (trial) => {
      const value = own(trial);
      return value === undefined ? null : scale.placeOf(value);
    },
    text: (trial) => valueText(own(trial)),
  };
}

function choiceScale(choices: readonly ParameterValue[]) {
  const sorted = choices.every((choice) => typeof choice === 'number')
    ? [...choices].sort((a, b) => a - b)
    : choices;
  const placeAt = (index: number) => (sorted.length === 1 ? 0.5 : index / (sorted.length - 1));
  const stride = Math.ceil(sorted.length / mostTicks);
  return {
    isLog: false,
    placeOf: (value: ParameterValue) => (sorted.includes(value) ? placeAt(sorted.indexOf(value)) : null),
    ticks: sorted
      .map((choice, index) => ({ at: placeAt(index), text: valueText(choice) }))
      .filter((_, index) => index % stride === 0),
  };
}

function rangeScale({ low, high, log }: { low: number; high: number; log: boolean }) {
  const bend = log ? Math.log10 : (value: number) => value;
  const placeOf = (value: ParameterValue) =>
    typeof value === 'number' ? (bend(value) - bend(low)) / (bend(high) - bend(low)) : null;
  const between = log ? decades(low, high) : [(low + high) / 2];
  const inner = between
    .map((value) => ({ at: placeOf(value) ?? 0, text: valueText(value) }))
    .filter(({ at }) => at > apart && at < 1 - apart);
  return {
    isLog: log,
    placeOf,
    ticks: [{ at: 0, text: valueText(low) }, ...inner, { at: 1, text: valueText(high) }],
  };
}

function decades(low: number, high: number): number[] {
  const first = Math.ceil(Math.log10(low));
  const count = Math.max(0, Math.floor(Math.log10(high)) - first + 1);
  const stride = Math.ceil(count / mostTicks) || 1;
  return Array.from({ length: count }, (_, index) => first + index)
    .filter((_, index) => index % stride === 0)
    .map((exponent) => Number(`1e${exponent}`));
}

/** The best value is at the top. */
function metricAxis(metric: string, direction: Direction, trials: readonly Trial[]): Axis {
  const values = trials.map(trialValue).filter((value) => value !== null);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const placeOf = (value: number) => {
    const share = high > low ? (value - low) / (high - low) : 0.5;
    return direction === 'minimize' ? 1 - share : share;
  };
  const ticks = high > low ? [low, (low + high) / 2, high] : values.slice(0, 1);
  const digits = digitsFor(Math.max(Math.abs(low), Math.abs(high)), (high - low) / 2);
  return {
    label: metricName(metric),
    isLog: false,
    place: (trial) => {
      const value = trialValue(trial);
      return value === null ? null : placeOf(value);
    },
    text: (trial) => formatNumber(trialValue(trial)),
    ticks: ticks.map((value) => ({ at: placeOf(value), text: formatNumber(value, digits) })),
  };
}
