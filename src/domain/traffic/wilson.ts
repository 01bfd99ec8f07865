/** A share, and the interval that has the true one with 95 % confidence. */
export interface Share {
  readonly share: number;
  readonly low: number;
  readonly high: number;
}

/** The 97.5 % quantile of the normal distribution. */
const z = 1.959964;

/**
 * The share of successes with its score interval (Wilson 1927, "Probable inference, the law of succession, and
 * statistical inference"), which stays within 0 and 1 also for few trials.
 * @returns `null` without a trial.
 */
export function wilson(successes: number, trials: number): Share | null {
  if (trials === 0) return null;
  const share = successes / trials;
  const scale = 1 + z ** 2 / trials;
  const center = (share + z ** 2 / (2 * trials)) / scale;
  const half = (z / scale) * Math.sqrt((share * (1 - share)) / trials + z ** 2 / (4 * trials ** 2));
  // Rounding would leave these just beside the ends.
  const [low, high] = [successes === 0 ? 0 : center - half, successes === trials ? 1 : center + half];
  return { share, low, high };
}

/**
 * By how much the second share is above the first, with the interval of the difference that is made of those of the two
 * shares (Newcombe 1998, "Interval estimation for the difference between independent proportions", method 10).
 */
export function difference(first: Share, second: Share): Share {
  const share = second.share - first.share;
  const below = Math.hypot(second.share - second.low, first.high - first.share);
  const above = Math.hypot(second.high - second.share, first.share - first.low);
  return { share, low: share - below, high: share + above };
}
