import type { Values } from './smoothing.ts';

/** A value this many widths of the middle 90 % away from it is an outlier. */
const reach = 1.5;
const tail = 0.05;
/** Of fewer values none is left out: each may be what one looks for, and all can be seen. */
const fewest = 30;
/** Of more values, about this many are looked at: enough for quantiles, and quick. */
const sampled = 1024;

export interface Range {
  readonly low: number;
  readonly high: number;
}

/** A sample of the values between two indices, sorted. */
function sampleOf(values: Values, from: number, to: number): number[] {
  const stride = Math.max(1, Math.ceil((to - from + 1) / sampled));
  const found: number[] = [];
  for (let index = from; index <= to; index += stride) {
    const value = values[index];
    if (value != null) found.push(value);
  }
  return found.sort((one, other) => one - other);
}

/** The limits of what is no outlier; `null` if the values are too few or too alike to say. */
function limitsOf(sorted: readonly number[]): Range | null {
  if (sorted.length < fewest) return null;
  const last = sorted.length - 1;
  const [low, high] = [
    sorted[Math.ceil(tail * last)] as number,
    sorted[Math.floor((1 - tail) * last)] as number,
  ];
  const width = high - low;
  return width <= 0 ? null : { low: low - reach * width, high: high + reach * width };
}

/**
 * The range of lines without their outliers, so that a few values do not flatten the rest. A line without outliers is
 * within it whole. @param all the range of all values between the indices.
 */
export function robustRange(lines: readonly Values[], from: number, to: number, all: Range): Range {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const values of lines) {
    const sorted = sampleOf(values, from, to);
    if (sorted.length === 0) continue;
    const limits = limitsOf(sorted);
    const [lowest, highest] = [sorted[0] as number, sorted.at(-1) as number];
    // Beyond the sample, but within the limits, there may be others: the range of all is exact then.
    low = Math.min(
      low,
      limits === null || lowest >= limits.low
        ? lowest
        : (sorted.find((value) => value >= limits.low) as number),
    );
    high = Math.max(
      high,
      limits === null || highest <= limits.high
        ? highest
        : (sorted.findLast((value) => value <= limits.high) as number),
    );
  }
  if (low > high) return all;
  // What the sample missed is shown if it is near.
  const air = reach * (high - low);
  return { low: all.low >= low - air ? all.low : low, high: all.high <= high + air ? all.high : high };
}
