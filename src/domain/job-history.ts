import { join } from 'node:path';
import type { Store } from '../db/store.ts';
import { readTail } from '../trainer/supervisor.ts';
import { type Frame, toFrame } from './frames.ts';
import type { JobRecords } from './job-records.ts';
import { type Consumption, createTally, type Point, pickFrames, type Tally, toSeries } from './series.ts';

/** What a job has told so far. Each throws AppError `not_found`. */
export interface JobHistory {
  /** The points of a job's curves, at most about `points` of them (0 for all). */
  series(id: number, points: number): ReturnType<typeof toSeries>;
  /** The newest points of a job, at most `count`. */
  recent(id: number, count: number): Point[];
  /** What a job has taken of the machine so far; steps that a resumed run did again count again. */
  consumption(id: number): Consumption;
  /** What was told of a job beside its curves: stored log and export frames, oldest first. */
  events(id: number): Frame[];
  /** The last lines of a job's log. */
  logTail(id: number, maxBytes: number): Promise<string>;
}

export function createJobHistory(
  store: Store,
  read: JobRecords['read'],
  folder: (id: number) => string,
): JobHistory {
  /** What was added up of jobs that were asked about, up to a frame, so that no long series is read twice. */
  const tallies = new Map<number, { readonly tally: Tally; seq: number }>();

  return {
    recent(id, count) {
      // Evaluations are among them, and steps that a resumed run wrote again.
      const events = store.events.tailOfJob(read(id).id, 'metrics', 2 * count);
      return toSeries(events, 0).train.slice(-count);
    },

    consumption(id) {
      const known = tallies.get(read(id).id) ?? { tally: createTally(), seq: 0 };
      for (const { seq, payload } of store.events.ofJob(id, 'metrics', known.seq)) {
        known.tally.add(payload as Point);
        known.seq = seq;
      }
      tallies.set(id, known);
      return known.tally.consumption();
    },

    series(id, points) {
      const { events } = store;
      read(id);
      if (points === 0) return toSeries(events.ofJob(id, 'metrics'), 0);
      return toSeries(events.bySeq(pickFrames(events.beginnings(id, 'metrics'), points)), 0);
    },

    events(id) {
      read(id);
      return (['log', 'export'] as const)
        .flatMap((type) => store.events.ofJob(id, type))
        .sort((a, b) => a.seq - b.seq)
        .map(toFrame);
    },

    logTail: (id, maxBytes) => readTail(join(folder(read(id).id), 'log.txt'), maxBytes),
  };
}
