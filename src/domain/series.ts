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

function thin(series: Point[], points: number): Point[] {
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

/** Adds up the traces of a run's steps; a mean counts each step by its seconds. */
export function consumptionOf(points: readonly Point[]): Consumption {
  const traces = points.map((point) => point.hardware as Record<string, number | null> | undefined);
  const known = (field: string) =>
    traces.flatMap((trace) => {
      const value = trace?.[field];
      return typeof value === 'number' ? [{ value, seconds: trace?.seconds ?? 0 }] : [];
    });
  const orNull = (field: string, of: (values: { value: number; seconds: number }[]) => number) => {
    const values = known(field);
    return values.length === 0 ? null : of(values);
  };
  const sum = (values: { value: number }[]) => values.reduce((total, { value }) => total + value, 0);
  const peak = (values: { value: number }[]) => values.reduce((top, { value }) => Math.max(top, value), 0);
  const mean = (values: { value: number; seconds: number }[]) => {
    const seconds = values.reduce((total, entry) => total + entry.seconds, 0);
    return seconds === 0
      ? sum(values) / values.length
      : values.reduce((total, entry) => total + entry.value * entry.seconds, 0) / seconds;
  };
  const kilo = (values: { value: number }[]) => sum(values) / 1000;
  return {
    gpu_kilowatt_hours: orNull('gpu_watt_hours', kilo),
    cpu_kilowatt_hours: orNull('cpu_watt_hours', kilo),
    gpu_peak_bytes: orNull('gpu_peak_bytes', peak),
    ram_peak_bytes: orNull('ram_peak_bytes', peak),
    gpu_mean_utilization_percent: orNull('gpu_mean_utilization_percent', mean),
    cpu_mean_percent: orNull('cpu_mean_percent', mean),
  };
}
