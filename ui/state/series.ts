import type { EvalPoint, Point } from '../api/frames.ts';

/** Columns of a run's series that are drawn; `null` where a step has no value. */
export const columnNames = [
  'loss',
  'learning_rate',
  'grad_norm',
  'tokens_per_second',
  'memory_bytes',
  'epoch',
] as const;
export type ColumnName = (typeof columnNames)[number];
export type Column = (number | null)[];

/**
 * The series of a run, column by column as a chart wants it, with steps in order. A step that a resumed run
 * wrote again replaces the earlier one.
 */
export class RunSeries {
  readonly steps: number[] = [];
  readonly columns: Readonly<Record<ColumnName, Column>> = {
    loss: [],
    learning_rate: [],
    grad_norm: [],
    tokens_per_second: [],
    memory_bytes: [],
    epoch: [],
  };
  readonly smoothed: Column = [];
  readonly evals: EvalPoint[] = [];
  last: Point | null = null;
  /** Grows with every change, for what draws the arrays. */
  version = 0;
  #weight = 0.9;
  /** The running average of the smoothing, before its bias is taken out, and how many values are in it. */
  #average = 0;
  #count = 0;

  /** How much of the past stays in the smoothed loss, 0…0.99. */
  get weight(): number {
    return this.#weight;
  }

  set weight(weight: number) {
    this.#weight = weight;
    this.version += 1;
    this.#smoothAll();
  }

  clear(): void {
    this.version += 1;
    this.steps.length = 0;
    this.smoothed.length = 0;
    this.evals.length = 0;
    for (const name of columnNames) this.columns[name].length = 0;
    this.last = null;
    this.#average = 0;
    this.#count = 0;
  }

  add(point: Point): void {
    this.version += 1;
    const newest = this.steps.at(-1);
    this.last = point;
    if (newest === undefined || point.step > newest) {
      this.steps.push(point.step);
      for (const name of columnNames) this.columns[name].push(point[name] ?? null);
      this.#smooth(point.loss ?? null);
      return;
    }
    const at = placeOf(this.steps, point.step);
    const known = this.steps[at] === point.step;
    this.steps.splice(at, known ? 1 : 0, point.step);
    for (const name of columnNames) this.columns[name].splice(at, known ? 1 : 0, point[name] ?? null);
    this.#smoothAll();
  }

  addEval(point: EvalPoint): void {
    this.version += 1;
    const at = this.evals.findIndex(({ step }) => step >= point.step);
    if (at < 0) this.evals.push(point);
    else this.evals.splice(at, this.evals[at]?.step === point.step ? 1 : 0, point);
  }

  #smoothAll(): void {
    this.smoothed.length = 0;
    this.#average = 0;
    this.#count = 0;
    for (const loss of this.columns.loss) this.#smooth(loss);
  }

  /** An exponential average whose start is not drawn towards zero (the correction of Adam's moments). */
  #smooth(loss: number | null): void {
    if (loss === null) {
      this.smoothed.push(null);
      return;
    }
    this.#count += 1;
    this.#average = this.#average * this.#weight + loss * (1 - this.#weight);
    this.smoothed.push(this.#average / (1 - this.#weight ** this.#count));
  }
}

/** Where a step is, or would have to be, among ordered steps. */
function placeOf(steps: readonly number[], step: number): number {
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((steps[middle] as number) < step) low = middle + 1;
    else high = middle;
  }
  return low;
}
