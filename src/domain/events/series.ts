import type { EventRow, EventStore } from '../../db/tables/events.ts';

/** One point of a job's series; its fields are those of the `metrics` frame. */
export type Point = Readonly<Record<string, unknown>> & { readonly step: number };

/** A job's metrics: one point per step (the latest if a step was repeated after a resume), and evaluations. */
export interface Series {
  readonly train: Point[];
  readonly eval: Point[];
}

/** The most steps of an answer, in which each takes about 400 bytes. */
export const maximumPoints = 50_000;

/**
 * A job's metrics, downsampled to about `points` steps (0 for all), always including the last; evaluations are not
 * downsampled. More than `maximumPoints` of either are downsampled to that many.
 */
export function readSeries(events: EventStore, jobId: number, points: number): Series {
  const read = (kind: string, most: number) =>
    events
      .bySeq(thin(events.steps(jobId, kind), Math.min(most || maximumPoints, maximumPoints)))
      .map(toPoint);
  return { train: read('train', points), eval: read('eval', maximumPoints) };
}

/** The last `count` steps of a job's series. */
export const readRecent = (events: EventStore, jobId: number, count: number): Point[] =>
  events.bySeq(events.lastSteps(jobId, 'train', count)).map(toPoint);

function toPoint({ payload, time }: EventRow): Point {
  const { kind: _kind, ...fields } = payload as { kind: string; step: number };
  return { ...fields, time };
}

/** Keeps every k-th point and the last. */
function thin<T>(series: T[], points: number): T[] {
  if (series.length <= points) return series;
  const stride = Math.ceil(series.length / points);
  return series.filter((_, index) => index % stride === stride - 1 || index === series.length - 1);
}
