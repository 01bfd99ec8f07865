import type { ParameterValue } from '../../contract/sweeps.ts';

/** How much of the order of the results goes with a setting. */
export interface Importance {
  readonly field: string;
  /**
   * The share of the variance in the ranks of the values that groups of the setting's values explain, 0 to 1, corrected for
   * the number of groups (epsilon squared). Numbers are grouped by thirds. It knows nothing of interactions.
   */
  readonly share: number;
  /** Spearman's rank correlation, −1 to 1; null for settings that are no numbers. */
  readonly correlation: number | null;
}

/** Results that can be compared. */
export interface Result {
  readonly parameters: Readonly<Record<string, ParameterValue>>;
  readonly value: number;
}

/** Fewer results show nothing. */
const fewest = 4;

/** The number of groups of a setting with more values. */
const groupCount = 3;

/** The importance of each setting, the greatest first; empty for fewer than four results. */
export function importanceOf(fields: readonly string[], results: readonly Result[]): Importance[] {
  if (results.length < fewest) return [];
  const ranks = ranksOf(results.map(({ value }) => value));
  return fields
    .map((field) => {
      const values = results.map(({ parameters }) => parameters[field] as ParameterValue);
      const numbers = values.filter((value) => typeof value === 'number');
      if (numbers.length < values.length)
        return { field, share: explained(values, ranks), correlation: null };
      const own = ranksOf(numbers);
      const groups = new Set(numbers).size > groupCount ? own.map((rank) => thirdOf(rank, own.length)) : own;
      return { field, share: explained(groups, ranks), correlation: pearson(own, ranks) };
    })
    .sort((a, b) => b.share - a.share);
}

const thirdOf = (rank: number, count: number) => Math.floor((rank * groupCount) / count);

/** Ranks from 0; equal values share the mean of theirs. */
function ranksOf(values: readonly number[]): number[] {
  const sorted = [...values].sort((a, b) => a - b);
  return values.map((value) => (sorted.indexOf(value) + sorted.lastIndexOf(value)) / 2);
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const squares = (values: readonly number[], from: number) =>
  values.reduce((sum, value) => sum + (value - from) ** 2, 0);

/** 0 where one of the two does not vary. */
function pearson(one: readonly number[], other: readonly number[]): number {
  const [a, b] = [mean(one), mean(other)];
  const both = one.reduce((sum, value, index) => sum + (value - a) * ((other[index] as number) - b), 0);
  const scale = Math.sqrt(squares(one, a) * squares(other, b));
  return scale === 0 ? 0 : both / scale;
}

/** Epsilon squared: the share of the variance that is between groups of equal values. */
function explained(values: readonly ParameterValue[], ranks: readonly number[]): number {
  const groups = [...new Set(values)].map((value) => ranks.filter((_, index) => values[index] === value));
  const total = squares(ranks, mean(ranks));
  const free = ranks.length - groups.length;
  if (total === 0 || free <= 0) return 0;
  const within = groups.reduce((sum, group) => sum + squares(group, mean(group)), 0);
  return Math.max(0, 1 - ((within / free) * (ranks.length - 1)) / total);
}
