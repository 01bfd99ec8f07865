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
