import type { Direction } from '../../contract/sweeps.ts';

/** An evaluation of a trial: how far through its steps it was (0 to 1), and the metric; null if it was not a number. */
export interface Evaluation {
  readonly fraction: number;
  readonly value: number | null;
}

/** The share of trials that goes on at each rung is one in `reduction`. */
const reduction = 3;
/** Where trials are compared, as fractions of their steps. */
const rungs = [1 / 9, 1 / 3] as const;
/** An evaluation this close before a rung counts as at it, because steps are whole numbers. */
const slack = 0.95;
/** The number of evaluations for which every rung has one. */
export const evaluationsForCulling = 9;

/** The value with which a trial came to a rung; undefined if it did not. */
const valueAt = (evaluations: readonly Evaluation[], rung: number) =>
  evaluations.find(({ fraction }) => fraction >= slack * rung)?.value;

/** Whether `one` is better than `other`; nothing is worse than no value. */
export function isBetter(one: number | null, other: number | null, direction: Direction): boolean {
  if (one === null || other === null) return one !== null && other === null;
  return direction === 'minimize' ? one < other : one > other;
}

/**
 * Successive halving, trial by trial (Li et al. 2020, "A System for Massively Parallel Hyperparameter Tuning", as it
 * stops trials): at the last rung that a trial has reached, it goes on if it is among the best third of all that came
 * there so far. The first two always go on.
 */
export function shouldCull(
  own: readonly Evaluation[],
  others: readonly (readonly Evaluation[])[],
  direction: Direction,
): boolean {
  const rung = rungs.findLast((at) => valueAt(own, at) !== undefined);
  if (rung === undefined || (own.at(-1)?.fraction ?? 0) >= 1) return false;
  const value = valueAt(own, rung) ?? null;
  const rivals = others.map((other) => valueAt(other, rung)).filter((other) => other !== undefined);
  const count = rivals.length + 1;
  if (count < reduction) return false;
  const better = rivals.filter((rival) => isBetter(rival, value, direction)).length;
  return better >= Math.floor(count / reduction);
}
