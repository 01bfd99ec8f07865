/** Median and spread of the runs of one side. */
export interface Summary {
  readonly runs: number;
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly least: number;
  readonly most: number;
}

/** The quantile of sorted values for a share, with linear interpolation (type 7 of Hyndman and Fan). */
function quantile(sorted: readonly number[], share: number): number {
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)] as number;
  const above = sorted[Math.ceil(at)] as number;
  return below + (above - below) * (at - Math.floor(at));
}

/** `low` and `high` are the quartiles; `least` and `most` are the minimum and maximum. */
export function summarize(values: readonly number[]): Summary {
  const sorted = [...values].sort((a, b) => a - b);
  return {
    runs: sorted.length,
    median: quantile(sorted, 0.5),
    low: quantile(sorted, 0.25),
    high: quantile(sorted, 0.75),
    least: quantile(sorted, 0),
    most: quantile(sorted, 1),
  };
}

/** The assumed spread of a single run; medians of full runs varied by less (bench/LOG.md). */
const unknownSpread = 2;

/**
 * `spread`: how far off the ratio of the medians may be, by the quartiles of both sides. `effect`: how far the ratio is
 * from 1. Both are fractions: 0.1 is 10 %. A ratio whose spread exceeds its effect is inconclusive.
 */
export function compareSpread(ours: Summary, theirs: Summary): { spread: number; effect: number } {
  if (!(ours.low > 0 && theirs.low > 0)) return { spread: Number.POSITIVE_INFINITY, effect: 0 };
  const reach = ({ runs, low, high }: Summary) => Math.log(runs < 2 ? unknownSpread : high / low) / 2;
  const off = Math.abs(Math.log(ours.median / theirs.median));
  return { spread: Math.expm1(reach(ours) + reach(theirs)), effect: Math.expm1(off) };
}
