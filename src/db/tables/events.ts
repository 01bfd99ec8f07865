import type { Db } from '../open.ts';

/** A published frame; `payload` has its fields except seq, time, type and job_id. */
export interface EventRow {
  readonly seq: number;
  readonly jobId: number | null;
  readonly type: string;
  readonly time: string;
  readonly payload: Record<string, unknown>;
}

/** The published frames, stored for replay and for a job's charts. */
export interface EventStore {
  append(event: EventRow): void;
  newestSeq(): number;
  /** Frames after `seq`, oldest first, at most `limit`. */
  since(seq: number, limit: number): EventRow[];
  /** Frames of a job and type after `seq`, oldest first. */
  ofJob(jobId: number, type: string, seq?: number): EventRow[];
  /** The last `limit` frames of a job and type before `seq`, newest first. */
  before(jobId: number, type: string, seq: number, limit: number): EventRow[];
  /** Like `ofJob`, read one by one while nothing else uses the database. */
  eachOfJob(jobId: number, type: string, seq: number): Iterable<EventRow>;
  /**
   * The numbers of a job's `metrics` frames of a kind by their step: one each, the newest, where a resumed run
   * wrote a step again.
   */
  steps(jobId: number, kind: string): number[];
  /** The last `limit` of `steps`. */
  lastSteps(jobId: number, kind: string, limit: number): number[];
  /** A job's `metrics` frames of a step: the newest of training and of evaluation. */
  atStep(jobId: number, step: number): EventRow[];
  /** A job's answers to sample prompts at these steps, oldest first. */
  samples(jobId: number, steps: readonly number[]): EventRow[];
  /** Frames by their `seq`, in the given order; missing ones are skipped. */
  bySeq(seqs: readonly number[]): EventRow[];
}

interface EventRecord {
  seq: number;
  job_id: number | null;
  type: string;
  time: string;
  payload: string;
}

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
  const columns = 'seq, job_id, type, time, payload';
  const since = db.prepare(`SELECT ${columns} FROM events WHERE seq > ? ORDER BY seq LIMIT ?`);
  const ofJob = db.prepare(
    `SELECT ${columns} FROM events WHERE job_id = ? AND type = ? AND seq > ? ORDER BY seq`,
  );
  const before = db.prepare(
    `SELECT ${columns} FROM events WHERE job_id = ? AND type = ? AND seq < ? ORDER BY seq DESC LIMIT ?`,
  );
  const newestOfSteps = `SELECT max(seq) FROM events WHERE type = 'metrics' AND job_id = ? AND kind = ? GROUP BY step`;
  const steps = db.prepare(`${newestOfSteps} ORDER BY step`).pluck();
  const lastSteps = db.prepare(`${newestOfSteps} ORDER BY step DESC LIMIT ?`).pluck();
  const atStep = db.prepare(
    `SELECT ${columns} FROM events WHERE seq IN (SELECT max(seq) FROM events
     WHERE type = 'metrics' AND job_id = ? AND kind IN ('train', 'eval') AND step = ? GROUP BY kind)`,
  );
  const samples = db.prepare(
    `SELECT ${columns} FROM events WHERE job_id = ? AND type = 'log' AND kind = 'sample'
     AND step IN (SELECT value FROM json_each(?)) ORDER BY seq`,
  );
  const one = db.prepare(`SELECT ${columns} FROM events WHERE seq = ?`);
  return {
    append: (event) =>
      void append.run(event.seq, event.jobId, event.type, event.time, JSON.stringify(event.payload)),
    newestSeq: () => (newest.get() as { seq: number | null }).seq ?? 0,
    since: (seq, limit) => (since.all(seq, limit) as EventRecord[]).map(toRow),
    ofJob: (jobId, type, seq = 0) => (ofJob.all(jobId, type, seq) as EventRecord[]).map(toRow),
    before: (jobId, type, seq, limit) => (before.all(jobId, type, seq, limit) as EventRecord[]).map(toRow),
    *eachOfJob(jobId, type, seq) {
      for (const record of ofJob.iterate(jobId, type, seq)) yield toRow(record as EventRecord);
    },
    steps: (jobId, kind) => steps.all(jobId, kind) as number[],
    lastSteps: (jobId, kind, limit) => (lastSteps.all(jobId, kind, limit) as number[]).reverse(),
    atStep: (jobId, step) => (atStep.all(jobId, step) as EventRecord[]).map(toRow),
    samples: (jobId, steps) => (samples.all(jobId, JSON.stringify(steps)) as EventRecord[]).map(toRow),
    bySeq: (seqs) =>
      seqs.flatMap((seq) => {
        const record = one.get(seq) as EventRecord | undefined;
        return record === undefined ? [] : [toRow(record)];
      }),
  };
}
