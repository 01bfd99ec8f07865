/** Median and spread of the runs of one side. */
export interface Summary {
  readonly runs: number;
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly least: number;
  readonly most: number;
}

/** The value below which a share of the sorted values lies, interpolated (type 7 of Hyndman and Fan). */
function quantile(sorted: readonly number[], share: number): number {
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)] as number;
  const above = sorted[Math.ceil(at)] as number;
  return below + (above - below) * (at - Math.floor(at));
}

/** `low` and `high` are the quartiles: half of the runs lie between them; all lie from `least` to `most`. */
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

/** What a single run is taken to be off by: medians of whole runs moved by less (bench/README.md). An assumption. */
const unknownSpread = 2;

/**
 * How far the quartiles of both sides allow the ratio of the medians to be off, and how far that ratio is from
 * 1, both as shares: 0.1 is 10 %. A ratio whose spread is larger than its effect says nothing.
 */
export function compareSpread(ours: Summary, theirs: Summary): { spread: number; effect: number } {
  if (!(ours.low > 0 && theirs.low > 0)) return { spread: Number.POSITIVE_INFINITY, effect: 0 };
  const reach = ({ runs, low, high }: Summary) => Math.log(runs < 2 ? unknownSpread : high / low) / 2;
  const off = Math.abs(Math.log(ours.median / theirs.median));
  return { spread: Math.expm1(reach(ours) + reach(theirs)), effect: Math.expm1(off) };
}
