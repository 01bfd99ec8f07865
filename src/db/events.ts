import type { Db } from './open.ts';

/** One frame that was published; `payload` is its fields beside seq, time, type and job_id. */
export interface EventRow {
  readonly seq: number;
  readonly jobId: number | null;
  readonly type: string;
  readonly time: string;
  readonly payload: Record<string, unknown>;
}

/** The published frames, kept so that they can be replayed and a job's series drawn again. */
export interface EventStore {
  append(event: EventRow): void;
  newestSeq(): number;
  /** Frames after `seq`, oldest first, at most `limit`. */
  since(seq: number, limit: number): EventRow[];
  /** Those of a job and type after `seq`, oldest first. */
  ofJob(jobId: number, type: string, seq?: number): EventRow[];
  /** Of each of a job and type, oldest first, its number and how its payload's text begins. */
  beginnings(jobId: number, type: string): (readonly [seq: number, beginning: string])[];
  /** Frames by their numbers, in the order asked for; those that are not there are left out. */
  bySeq(seqs: readonly number[]): EventRow[];
  /** The newest `limit` frames of a job and type, oldest first. */
  tailOfJob(jobId: number, type: string, limit: number): EventRow[];
}

interface EventRecord {
  seq: number;
  job_id: number | null;
  type: string;
  time: string;
  payload: string;
}

/** Enough for the first two fields of a `metrics` frame. */
const beginningLength = 48;

const toRow = (record: EventRecord): EventRow => ({
  seq: record.seq,
  jobId: record.job_id,
  type: record.type,
  time: record.time,
  payload: JSON.parse(record.payload) as Record<string, unknown>,
});

export function createEventStore(db: Db): EventStore {
  const append = db.prepare('INSERT INTO events (seq, job_id, type, time, payload) VALUES (?, ?, ?, ?, ?)');
  const newest = db.prepare('SELECT max(seq) AS seq FROM events');
  const since = db.prepare('SELECT * FROM events WHERE seq > ? ORDER BY seq LIMIT ?');
  const ofJob = db.prepare('SELECT * FROM events WHERE job_id = ? AND type = ? AND seq > ? ORDER BY seq');
  const beginnings = db
    .prepare(
      `SELECT seq, substr(payload, 1, ${beginningLength}) FROM events WHERE job_id = ? AND type = ? ORDER BY seq`,
    )
    .raw();
  const one = db.prepare('SELECT * FROM events WHERE seq = ?');
  const tail = db.prepare('SELECT * FROM events WHERE job_id = ? AND type = ? ORDER BY seq DESC LIMIT ?');
  return {
    append: (event) =>
      void append.run(event.seq, event.jobId, event.type, event.time, JSON.stringify(event.payload)),
    newestSeq: () => (newest.get() as { seq: number | null }).seq ?? 0,
    since: (seq, limit) => (since.all(seq, limit) as EventRecord[]).map(toRow),
    ofJob: (jobId, type, seq = 0) => (ofJob.all(jobId, type, seq) as EventRecord[]).map(toRow),
    beginnings: (jobId, type) => beginnings.all(jobId, type) as [number, string][],
    bySeq: (seqs) =>
      seqs.flatMap((seq) => {
        const record = one.get(seq) as EventRecord | undefined;
        return record === undefined ? [] : [toRow(record)];
      }),
    tailOfJob: (jobId, type, limit) => (tail.all(jobId, type, limit) as EventRecord[]).reverse().map(toRow),
  };
}
