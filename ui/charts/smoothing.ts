export type Values = readonly (number | null)[];

/** How far a value's share may fall before it no longer counts. */
const negligible = 1e-9;

/**
 * An exponential moving average without the bias towards zero of its start, as in TensorBoard: value `i` of `n` has the
 * share `weight ** (n - i)`. Gaps stay gaps. The array may grow; only what is new is computed.
 */
export class Smoothed {
  readonly values: (number | null)[] = [];
  #source: Values = [];
  #weight = 0;
  #rewritten = 0;
  #average = 0;
  /** What the average has of the share of all values, `1 - weight ** count`. */
  #share = 0;

  /**
   * Follows the source. @param rewritten changes whenever values other than new ones have changed.
   * @returns the smoothed values, always the same array.
   */
  follow(source: Values, weight: number, rewritten: number): (number | null)[] {
    if (
      source !== this.#source ||
      weight !== this.#weight ||
      rewritten !== this.#rewritten ||
      source.length < this.values.length
    ) {
      this.#source = source;
      this.#weight = weight;
      this.#rewritten = rewritten;
      this.#average = 0;
      this.#share = 0;
      this.values.length = 0;
    }
    for (let index = this.values.length; index < source.length; index += 1) {
      const value = source[index] ?? null;
      if (value === null) {
        this.values.push(null);
        continue;
      }
      this.#average = this.#average * weight + value * (1 - weight);
      this.#share = this.#share * weight + (1 - weight);
      this.values.push(this.#average / this.#share);
    }
    return this.values;
  }
}

/** The last of the smoothed values, computed from the newest values alone; `null` without values. */
export function smoothedEnd(values: Values, weight: number): number | null {
  let sum = 0;
  let shares = 0;
  let share = 1;
  for (let index = values.length - 1; index >= 0 && share > negligible; index -= 1) {
    const value = values[index] ?? null;
    if (value === null) continue;
    sum += share * value;
    shares += share;
    share *= weight;
  }
  return shares === 0 ? null : sum / shares;
}
