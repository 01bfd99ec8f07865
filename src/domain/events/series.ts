import type { EventRow, EventStore } from '../../db/events.ts';

/** One point of a job's series; its fields are those of the `metrics` frame. */
export type Point = Readonly<Record<string, unknown>> & { readonly step: number };

/** A job's metrics: one point per step (the latest if a step was repeated after a resume), and evaluations. */
export interface Series {
  readonly train: Point[];
  readonly eval: Point[];
}

/** A job's metrics, downsampled to about `points` steps (0 for all), always including the last. */
export function readSeries(events: EventStore, jobId: number, points: number): Series {
  const read = (seqs: readonly number[]) => events.bySeq(seqs).map(toPoint);
  return { train: read(thin(events.steps(jobId, 'train'), points)), eval: read(events.steps(jobId, 'eval')) };
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
  if (points === 0 || series.length <= points) return series;
  const stride = Math.ceil(series.length / points);
  return series.filter((_, index) => index % stride === stride - 1 || index === series.length - 1);
}
