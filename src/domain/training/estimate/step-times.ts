/** What one optimizer step took, and the tokens of its rows. */
export interface StepTime {
  readonly seconds: number;
  readonly tokens: number;
}

/** Fewer steps than this tell nothing, nor do steps of which the middle half differs by less than this share in tokens. */
const leastSteps = 16;
const leastSpread = 0.1;

/** A value of a list by its place, from 0 for the smallest to 1 for the largest. */
function quantile(values: readonly number[], place: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.round(place * (sorted.length - 1))] as number;
}

const median = (values: readonly number[]) => quantile(values, 0.5);

/**
 * The share of a step's time that does not grow with its tokens: each pass through the model takes some time for every
 * layer, however few the rows. It is what the line of the steps' times by their tokens has at no tokens. The line is that of
 * Theil and Sen, whose slope is the median of the slopes between all pairs: steps that an evaluation or a
 * checkpoint made longer do not change it.
 * @returns from 0 to 1; 0 where the steps do not tell.
 */
export function fixedShare(steps: readonly StepTime[]): number {
  const tokens = steps.map((step) => step.tokens);
  if (steps.length < leastSteps) return 0;
  if (quantile(tokens, 0.75) - quantile(tokens, 0.25) < leastSpread * median(tokens)) return 0;
  const slopes = steps.flatMap((one, index) =>
    steps
      .slice(index + 1)
      .filter((other) => other.tokens !== one.tokens)
      .map((other) => (other.seconds - one.seconds) / (other.tokens - one.tokens)),
  );
  const perToken = Math.max(0, median(slopes));
  const perStep = Math.max(0, median(steps.map((step) => step.seconds - perToken * step.tokens)));
  const whole = perStep + perToken * median(tokens);
  return whole === 0 ? 0 : perStep / whole;
}
