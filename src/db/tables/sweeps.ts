import type { Db } from '../open.ts';

/** A stored sweep, with JSON columns parsed. */
export interface SweepRow {
  readonly id: number;
  readonly state: string;
  readonly request: unknown;
  readonly space: unknown;
  readonly trials: number;
  readonly metric: string;
  readonly direction: string;
  readonly culling: boolean;
  readonly seed: number;
  readonly createdAt: string;
  readonly endedAt: string | null;
  readonly error: string | null;
}

/** A trial of a sweep: one job. */
export interface TrialRow {
  readonly sweepId: number;
  /** From 1. */
  readonly number: number;
  readonly jobId: number;
  readonly parameters: unknown;
  readonly culled: boolean;
  /** How often it was resumed after an interruption. */
  readonly resumed: number;
}

export type NewSweep = Omit<SweepRow, 'id' | 'endedAt' | 'error'>;

/** The tables of sweeps and their trials. */
export interface SweepStore {
  insert(sweep: NewSweep): number;
  /** Stores a sweep with its trials as they are given, in place of an earlier one with its ID. */
  put(sweep: SweepRow, trials: readonly TrialRow[]): void;
  get(id: number): SweepRow | null;
  /** Newest first. */
  list(): SweepRow[];
  /** Ends a sweep, or lets it go on (`endedAt` is null). */
  setState(id: number, state: string, endedAt: string | null, error: string | null): void;
  /** Deletes a sweep with its trials, but not their jobs. */
  remove(id: number): void;
  putTrial(trial: Pick<TrialRow, 'sweepId' | 'number' | 'jobId' | 'parameters'>): void;
  /** The trials of a sweep, by number. */
  trials(sweepId: number): TrialRow[];
  trialOf(jobId: number): TrialRow | null;
  setCulled(jobId: number): void;
  setResumed(jobId: number, resumed: number): void;
  removeTrial(jobId: number): void;
}

export function createSweepStore(db: Db): SweepStore {
  const columns =
    'id, state, request, space, trials, metric, direction, culling, seed, created_at AS createdAt, ended_at AS endedAt, error';
  const insert = db.prepare(
    `INSERT INTO sweeps (state, request, space, trials, metric, direction, culling, seed, created_at)
     VALUES (@state, @request, @space, @trials, @metric, @direction, @culling, @seed, @createdAt)`,
  );
  const insertAll = db.prepare(
    `INSERT INTO sweeps (id, state, request, space, trials, metric, direction, culling, seed, created_at, ended_at, error)
     VALUES (@id, @state, @request, @space, @trials, @metric, @direction, @culling, @seed, @createdAt, @endedAt, @error)`,
  );
  const get = db.prepare(`SELECT ${columns} FROM sweeps WHERE id = ?`);
  const list = db.prepare(`SELECT ${columns} FROM sweeps ORDER BY id DESC`);
  const setState = db.prepare('UPDATE sweeps SET state = ?, ended_at = ?, error = ? WHERE id = ?');
  const remove = db.prepare('DELETE FROM sweeps WHERE id = ?');
  const trialColumns = 'sweep_id AS sweepId, number, job_id AS jobId, parameters, culled, resumed';
  const putTrial = db.prepare(
    'INSERT INTO sweep_trials (sweep_id, number, job_id, parameters) VALUES (@sweepId, @number, @jobId, @parameters)',
  );
  const putWholeTrial = db.prepare(
    `INSERT OR REPLACE INTO sweep_trials (sweep_id, number, job_id, parameters, culled, resumed)
     VALUES (@sweepId, @number, @jobId, @parameters, @culled, @resumed)`,
  );
  const trials = db.prepare(`SELECT ${trialColumns} FROM sweep_trials WHERE sweep_id = ? ORDER BY number`);
  const trialOf = db.prepare(`SELECT ${trialColumns} FROM sweep_trials WHERE job_id = ?`);
  const setCulled = db.prepare('UPDATE sweep_trials SET culled = 1 WHERE job_id = ?');
  const setResumed = db.prepare('UPDATE sweep_trials SET resumed = ? WHERE job_id = ?');
  const removeTrial = db.prepare('DELETE FROM sweep_trials WHERE job_id = ?');
  const toSweep = (record: unknown): SweepRow => {
    const row = record as Omit<SweepRow, 'culling'> & { request: string; space: string; culling: number };
    return {
      ...row,
      request: JSON.parse(row.request),
      space: JSON.parse(row.space),
      culling: row.culling === 1,
    };
  };
  const toTrial = (record: unknown): TrialRow => {
    const row = record as Omit<TrialRow, 'culled'> & { parameters: string; culled: number };
    return { ...row, parameters: JSON.parse(row.parameters), culled: row.culled === 1 };
  };
  const fromSweep = <S extends NewSweep>(sweep: S) => ({
    ...sweep,
    request: JSON.stringify(sweep.request),
    space: JSON.stringify(sweep.space),
    culling: sweep.culling ? 1 : 0,
  });
  return {
    insert: (sweep) => Number(insert.run(fromSweep(sweep)).lastInsertRowid),
    put(sweep, tried) {
      remove.run(sweep.id);
      insertAll.run(fromSweep(sweep));
      for (const trial of tried) {
        const parameters = JSON.stringify(trial.parameters);
        putWholeTrial.run({ ...trial, parameters, culled: trial.culled ? 1 : 0 });
      }
    },
    get(id) {
      const record = get.get(id);
      return record === undefined ? null : toSweep(record);
    },
    list: () => list.all().map(toSweep),
    setState: (id, state, endedAt, error) => void setState.run(state, endedAt, error, id),
    remove: (id) => void remove.run(id),
    putTrial: (trial) => void putTrial.run({ ...trial, parameters: JSON.stringify(trial.parameters) }),
    trials: (sweepId) => trials.all(sweepId).map(toTrial),
    trialOf(jobId) {
      const record = trialOf.get(jobId);
      return record === undefined ? null : toTrial(record);
    },
    setCulled: (jobId) => void setCulled.run(jobId),
    setResumed: (jobId, resumed) => void setResumed.run(resumed, jobId),
    removeTrial: (jobId) => void removeTrial.run(jobId),
  };
}
