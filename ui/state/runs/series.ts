import type { EvalPoint, Point } from '../../api/frames.ts';
import type { XName } from './chart-options.ts';

/** Columns that every run may have; `null` where a step has no value. */
export const columnNames = [
  'loss',
  'learning_rate',
  'grad_norm',
  'tokens_per_second',
  'memory_bytes',
  'gpu_percent',
  'gpu_memory_bytes',
  'gpu_watts',
  'cpu_percent',
] as const;
export type ColumnName = (typeof columnNames)[number];
export type Column = (number | null)[];

/** Limit for further metrics of a strategy (rewards, KL divergence, accuracy). */
const extraLimit = 24;
const secondsPerHour = 3600;
/** Longer runs are downsampled while watched, to bound memory. */
const longest = 150_000;

/**
 * The metrics of a run in columns, ordered by step. A step that a resumed run repeats replaces the earlier one.
 */
export class RunSeries {
  readonly steps: number[] = [];
  /** For each step, the epoch and the seconds of training so far; they never decrease. */
  readonly epochs: number[] = [];
  readonly seconds: number[] = [];
  readonly columns = Object.fromEntries(columnNames.map((name) => [name, [] as Column])) as Readonly<
    Record<ColumnName, Column>
  >;
  /** Evaluation metrics at the evaluated steps. */
  readonly evaluated = new Map<string, Column>();
  readonly extras = new Map<string, Column>();
  readonly evals: EvalPoint[] = [];
  /** Columns with at least one value. */
  readonly filled = new Set<ColumnName>();
  last: Point | null = null;
  /** Increases with every change, to trigger redrawing. */
  version = 0;
  /** Increases when values change that are not new: what was computed from them is out of date. */
  rewritten = 0;

  clear(): void {
    this.version += 1;
    this.rewritten += 1;
    this.steps.length = 0;
    this.epochs.length = 0;
    this.seconds.length = 0;
    this.evaluated.clear();
    this.evals.length = 0;
    this.extras.clear();
    this.filled.clear();
    for (const name of columnNames) this.columns[name].length = 0;
    this.last = null;
  }

  /** The places of the steps on an x axis. */
  xs(name: XName): readonly number[] {
    return name === 'step' ? this.steps : name === 'epoch' ? this.epochs : this.seconds;
  }

  /** The place of an evaluation on an x axis; that of the nearest later step where only steps have one. */
  placeOf({ step, epoch }: EvalPoint, name: XName): number {
    if (name === 'step') return step;
    if (name === 'epoch' && epoch !== undefined) return epoch;
    // Before the first step, no time was spent in training.
    if (step === 0 || this.steps.length === 0) return 0;
    return this.xs(name)[Math.min(placeOf(this.steps, step), this.steps.length - 1)] as number;
  }

  add(point: Point): void {
    this.version += 1;
    this.last = point;
    const newest = this.steps.at(-1);
    if (newest === undefined || point.step > newest) {
      this.#write(this.steps.length, 0, point);
      for (const column of this.evaluated.values()) column.push(null);
      const evaluation = this.evals.at(-1);
      if (evaluation?.step === point.step) this.#mark(evaluation);
      if (this.steps.length > longest) this.#thin();
      return;
    }
    const at = placeOf(this.steps, point.step);
    const isKnown = this.steps[at] === point.step;
    this.#write(at, isKnown ? 1 : 0, point);
    if (!isKnown) for (const column of this.evaluated.values()) column.splice(at, 0, null);
    this.rewritten += 1;
  }

  addEval(point: EvalPoint): void {
    this.version += 1;
    const at = this.evals.findIndex(({ step }) => step >= point.step);
    if (at < 0) this.evals.push(point);
    else this.evals.splice(at, this.evals[at]?.step === point.step ? 1 : 0, point);
    this.#mark(point);
    this.rewritten += 1;
  }

  /** Stores an evaluation at its step, or at the next remaining step if downsampled. */
  #mark({ step, metrics }: EvalPoint): void {
    if (step === 0 && this.steps[0] !== 0) this.#begin();
    if (this.steps.length === 0 || step > (this.steps.at(-1) as number)) return;
    const at = placeOf(this.steps, step);
    for (const [name, value] of Object.entries(metrics ?? {})) {
      let column = this.evaluated.get(name);
      if (column === undefined) {
        if (this.evaluated.size >= extraLimit) continue;
        column = new Array(this.steps.length).fill(null);
        this.evaluated.set(name, column);
      }
      column[at] = value;
    }
  }

  /** Adds step 0, at which nothing but an evaluation has a value. */
  #begin(): void {
    for (const column of [this.steps, this.epochs, this.seconds]) column.unshift(0);
    for (const columns of [Object.values(this.columns), this.extras.values(), this.evaluated.values()])
      for (const column of columns) column.unshift(null);
  }

  /** Writes a point's values at an index, replacing a number of points. */
  #write(at: number, over: 0 | 1, point: Point): void {
    const isLast = at === this.steps.length;
    const put = <T>(column: T[], value: T) => {
      if (isLast) column.push(value);
      else column.splice(at, over, value);
    };
    const values = valuesOf(point);
    for (const name of columnNames) {
      const value = values[name] ?? null;
      if (value !== null) this.filled.add(name);
      put(this.columns[name], value);
    }
    for (const name of Object.keys(point.extra ?? {})) {
      if (!this.extras.has(name) && this.extras.size < extraLimit) {
        this.extras.set(name, new Array(this.steps.length).fill(null));
      }
    }
    for (const [name, column] of this.extras) put(column, point.extra?.[name] ?? null);
    put(this.steps, point.step);
    for (const [column, value] of [
      [this.epochs, point.epoch],
      [this.seconds, point.elapsed_seconds],
    ] as const) {
      const risen = Math.max(column[at - 1] ?? 0, value ?? 0);
      put(column, risen);
      // A resumed run may be slower than before: what it has not yet repeated is later than what it has.
      for (let next = at + 1; (column[next] ?? risen) < risen; next += 1) column[next] = risen;
    }
  }

  /** Drops every other step except the latest. */
  #thin(): void {
    this.rewritten += 1;
    const last = this.steps.length - 1;
    const columns: (number | null)[][] = [
      this.steps,
      this.epochs,
      this.seconds,
      ...Object.values(this.columns),
      ...this.extras.values(),
    ];
    for (const column of columns) halve(column, last % 2);
    for (const column of this.evaluated.values()) column.length = this.steps.length;
    for (const column of this.evaluated.values()) column.fill(null);
    for (const point of this.evals) this.#mark(point);
  }
}

/** A point's value for each column. */
function valuesOf(point: Point): Readonly<Record<ColumnName, number | null | undefined>> {
  const { hardware } = point;
  const wattHours = hardware?.gpu_watt_hours;
  return {
    loss: point.loss,
    learning_rate: point.learning_rate,
    grad_norm: point.grad_norm,
    tokens_per_second: point.tokens_per_second,
    memory_bytes: point.memory_bytes,
    gpu_percent: hardware?.gpu_mean_utilization_percent,
    gpu_memory_bytes: hardware?.gpu_peak_bytes,
    gpu_watts:
      wattHours == null || hardware == null || hardware.seconds <= 0
        ? null
        : (wattHours * secondsPerHour) / hardware.seconds,
    cpu_percent: hardware?.cpu_mean_percent,
  };
}

/** Keeps every other value from `first`, in place. */
function halve(column: (number | null)[], first: number): void {
  let kept = 0;
  for (let index = first; index < column.length; index += 2) {
    column[kept] = column[index] as number | null;
    kept += 1;
  }
  column.length = kept;
}

/** The index of a step, or where to insert it. */
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
