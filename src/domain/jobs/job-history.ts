import { join } from 'node:path';
import type { Store } from '../../db/store.ts';
import type { EventRow } from '../../db/tables/events.ts';
import { readTail } from '../../trainer/processes/supervisor.ts';
import { type Consumption, createTally, type Tally } from '../events/consumption.ts';
import { type Frame, toFrame } from '../events/frame-log.ts';
import { type Point, readRecent, readSeries, type Series } from '../events/series.ts';
import { type AskedWith, readAskedWith } from '../job-record/asked-with.ts';
import { type DataDigest, readDataDigest } from '../job-record/data-digest.ts';
import type { JobReader } from './job-records.ts';
import { isTrained } from './trained-file.ts';
import { readVerdict, type Verdict } from './verdict/verdict.ts';

/** What is stored about a job so far. Each method throws AppError `not_found`. */
export interface JobHistory {
  /** A job's metrics, downsampled to about `points` steps (0 for all up to a bound). */
  series(id: number, points: number): Series;
  /** The last `count` steps of a job. */
  recent(id: number, count: number): Point[];
  /** A job's total resource usage so far; steps repeated after a resume count again. */
  consumption(id: number): Consumption;
  /** What happened to a job, oldest first: states and phases, evaluations, log and export frames. */
  events(id: number): Frame[];
  /** What a job gained, `null` unless it is completed; `kept` are the steps of its checkpoints. */
  verdict(id: number, kept: readonly number[]): Verdict | null;
  /** Whether a job took its last step, so that resuming it only exports. */
  isTrained(id: number): boolean;
  /** The rows that a job was trained on; `null` if their file is gone. */
  dataDigest(id: number): Promise<DataDigest | null>;
  /** The system prompt and the tools of the rows that a job was trained on. */
  askedWith(id: number): Promise<AskedWith>;
  /** The last lines of a job's log. */
  logTail(id: number, maxBytes: number): Promise<string>;
}

export function createJobHistory(
  store: Store,
  get: JobReader['get'],
  folder: (id: number) => string,
): JobHistory {
  /** Cached totals per job, each up to a frame, so that a long series is not summed again. */
  const tallies = new Map<number, { readonly tally: Tally; seq: number }>();

  return {
    recent: (id, count) => readRecent(store.events, get(id).id, count),

    consumption(id) {
      const known = tallies.get(get(id).id) ?? { tally: createTally(), seq: 0 };
      for (const { seq, payload } of store.events.eachOfJob(id, 'metrics', known.seq)) {
        known.tally.add(payload as Point);
        known.seq = seq;
      }
      tallies.set(id, known);
      return known.tally.consumption();
    },

    series: (id, points) => readSeries(store.events, get(id).id, points),

    events(id) {
      get(id);
      const { events } = store;
      return [
        ...changes(events.ofJob(id, 'status')),
        ...events.bySeq(events.steps(id, 'eval')),
        ...(['log', 'export'] as const).flatMap((type) => events.ofJob(id, type)),
      ]
        .sort((a, b) => a.seq - b.seq)
        .map(toFrame);
    },

    verdict: (id, kept) => readVerdict(store.events, get(id), kept),

    isTrained: (id) => isTrained(folder(get(id).id)),

    dataDigest: async (id) => readDataDigest(get(id)),

    askedWith: async (id) => readAskedWith(get(id)),

    logTail: (id, maxBytes) => readTail(join(folder(get(id).id), 'log.txt'), maxBytes),
  };
}

/** The `status` frames with another state or phase than the one before. */
const changes = (statuses: readonly EventRow[]): EventRow[] =>
  statuses.filter(({ payload: { state, phase } }, at) => {
    const before = statuses[at - 1]?.payload;
    return state !== before?.state || phase !== before?.phase;
  });
