import type { EventRow } from '../db/events.ts';

/** One point of a job's series; its fields are those of the `metrics` frame. */
export type Point = Readonly<Record<string, unknown>> & { readonly step: number };

/**
 * The series of a job from its `metrics` frames: one point a step, the newest where a resumed run wrote a
 * step again, thinned to at most `points` (0 for all) by taking every k-th and always the last.
 */
export function toSeries(events: readonly EventRow[], points: number): { train: Point[]; eval: Point[] } {
  const byKind = { train: new Map<number, Point>(), eval: new Map<number, Point>() };
  for (const { payload, time } of events) {
    const { kind, ...fields } = payload as { kind: 'train' | 'eval'; step: number };
    byKind[kind].set(fields.step, { ...fields, time });
  }
  const ordered = (map: Map<number, Point>) => [...map.values()].sort((a, b) => a.step - b.step);
  return { train: thin(ordered(byKind.train), points), eval: ordered(byKind.eval) };
}

/** A `metrics` frame is written with these first (job-journal.ts). */
const beginningOfMetrics = /^\{"kind":"(train|eval)","step":(\d+)[,}]/;

/**
 * Which frames a thinned series needs, by how they begin alone: of a long run most need not be read.
 * @returns their numbers.
 */
export function pickFrames(
  beginnings: readonly (readonly [seq: number, beginning: string])[],
  points: number,
): number[] {
  const newest = new Map<number, number>();
  const others: number[] = [];
  for (const [seq, beginning] of beginnings) {
    const found = beginningOfMetrics.exec(beginning);
    if (found?.[1] === 'train') newest.set(Number(found[2]), seq);
    else others.push(seq);
  }
  const ordered = [...newest].sort(([a], [b]) => a - b).map(([, seq]) => seq);
  return [...others, ...thin(ordered, points)].sort((a, b) => a - b);
}

function thin<T>(series: T[], points: number): T[] {
  if (points === 0 || series.length <= points) return series;
  const stride = Math.ceil(series.length / points);
  return series.filter((_, index) => index % stride === stride - 1 || index === series.length - 1);
}

/** What a whole run took of the machine; `null` where nothing of it was readable. */
export interface Consumption {
  readonly gpu_kilowatt_hours: number | null;
  /** Of the processor packages. */
  readonly cpu_kilowatt_hours: number | null;
  readonly gpu_peak_bytes: number | null;
  readonly ram_peak_bytes: number | null;
  readonly gpu_mean_utilization_percent: number | null;
  readonly cpu_mean_percent: number | null;
}

/** Adds up the traces of a run's steps as they come. */
export interface Tally {
  add(point: Point): void;
  /** A mean counts each step by its seconds. */
  consumption(): Consumption;
}

/** One figure over many traces. */
interface Figure {
  count: number;
  sum: number;
  peak: number;
  weighted: number;
  seconds: number;
}

export function createTally(): Tally {
  const figures = new Map<string, Figure>();
  const figure = <T>(name: string, of: (figure: Figure) => T): T | null => {
    const found = figures.get(name);
    return found === undefined ? null : of(found);
  };
  const kilo = ({ sum }: Figure) => sum / 1000;
  const peak = ({ peak: most }: Figure) => most;
  const mean = ({ count, sum, weighted, seconds }: Figure) =>
    seconds === 0 ? sum / count : weighted / seconds;
  return {
    add(point) {
      const trace = point.hardware as Readonly<Record<string, number | null>> | undefined;
      if (trace === undefined) return;
      const seconds = trace.seconds ?? 0;
      for (const [name, value] of Object.entries(trace)) {
        if (typeof value !== 'number' || name === 'seconds') continue;
        const found = figures.get(name) ?? { count: 0, sum: 0, peak: 0, weighted: 0, seconds: 0 };
        found.count += 1;
        found.sum += value;
        found.peak = Math.max(found.peak, value);
        found.weighted += value * seconds;
        found.seconds += seconds;
        figures.set(name, found);
      }
    },
    consumption: () => ({
      gpu_kilowatt_hours: figure('gpu_watt_hours', kilo),
      cpu_kilowatt_hours: figure('cpu_watt_hours', kilo),
      gpu_peak_bytes: figure('gpu_peak_bytes', peak),
      ram_peak_bytes: figure('ram_peak_bytes', peak),
      gpu_mean_utilization_percent: figure('gpu_mean_utilization_percent', mean),
      cpu_mean_percent: figure('cpu_mean_percent', mean),
    }),
  };
}
