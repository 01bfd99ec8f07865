import type { Statement } from 'better-sqlite3';
import type { RunOrder } from '../../contract/jobs.ts';
import { gainOf } from '../gain.ts';
import type { Db } from '../open.ts';
import { addSearch, conditionsOf, type Facets, readFacets } from '../search.ts';

/** A stored training job, with JSON columns parsed. */
export interface JobRow {
  readonly id: number;
  readonly modelId: string;
  readonly state: string;
  readonly task: string;
  readonly provider: string;
  readonly strategy: string;
  readonly modelName: string;
  readonly datasetName: string;
  readonly spec: unknown;
  readonly createdAt: string;
  /** The start of the latest attempt. */
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** How long the attempts before the latest one ran, in seconds. */
  readonly earlierSeconds: number;
  readonly pid: number | null;
  readonly pidStarted: string | null;
  readonly journalOffset: number;
  readonly stopRequested: boolean;
  readonly discardRequested: boolean;
  readonly acknowledged: boolean;
  /** The highest progress of the latest attempt, in percent. */
  readonly progress: number | null;
  readonly phase: string | null;
  readonly phaseProgress: number | null;
  readonly phaseDetail: string | null;
  readonly lastMetric: unknown;
  /** What the time left of the latest attempt is told by. */
  readonly clock: unknown;
  readonly resultMetrics: unknown;
  readonly verification: unknown;
  readonly export: unknown;
  readonly artifacts: unknown;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly errorAdvice: string | null;
  readonly errorEvidence: string | null;
  readonly exitCode: number | null;
  readonly exitSignal: string | null;
  /** Empty for a job that was stored before its settings were known. */
  readonly displayName: string;
  readonly notes: string;
  readonly tags: readonly string[];
  /** The sweep that it is a trial of. */
  readonly sweepId: number | null;
  /** How much lower its evaluation loss is than its base model's, as a share of it. */
  readonly gain: number | null;
}

/** What is read with a job, but not stored in its row. */
type Derived = 'sweepId' | 'gain';

export type NewJob = Pick<
  JobRow,
  'modelId' | 'state' | 'task' | 'provider' | 'strategy' | 'modelName' | 'datasetName' | 'createdAt'
> &
  Partial<Pick<JobRow, 'displayName'>>;
/** A job with a known number: one that is registered again. */
export type KnownJob = NewJob & Pick<JobRow, 'id'>;
type Changeable = Omit<JobRow, 'id' | 'modelId' | 'createdAt' | Derived>;
/** What is `undefined` stays. */
export type JobChange = { readonly [C in keyof Changeable]?: Changeable[C] | undefined };

const jsonColumns = new Set([
  'spec',
  'lastMetric',
  'clock',
  'resultMetrics',
  'verification',
  'export',
  'artifacts',
  'tags',
]);
const booleanColumns = new Set(['stopRequested', 'discardRequested', 'acknowledged']);
const columnNames: Record<keyof JobRow, string> = {
  id: 'id',
  modelId: 'model_id',
  state: 'state',
  task: 'task',
  provider: 'provider',
  strategy: 'strategy',
  modelName: 'model_name',
  datasetName: 'dataset_name',
  spec: 'spec',
  createdAt: 'created_at',
  startedAt: 'started_at',
  endedAt: 'ended_at',
  earlierSeconds: 'earlier_seconds',
  pid: 'pid',
  pidStarted: 'pid_started',
  journalOffset: 'journal_offset',
  stopRequested: 'stop_requested',
  discardRequested: 'discard_requested',
  acknowledged: 'acknowledged',
  progress: 'progress',
  phase: 'phase',
  phaseProgress: 'phase_progress',
  phaseDetail: 'phase_detail',
  lastMetric: 'last_metric',
  clock: 'clock',
  resultMetrics: 'result_metrics',
  verification: 'verification',
  export: 'export',
  artifacts: 'artifacts',
  errorCode: 'error_code',
  errorMessage: 'error_message',
  errorAdvice: 'error_advice',
  errorEvidence: 'error_evidence',
  exitCode: 'exit_code',
  exitSignal: 'exit_signal',
  displayName: 'display_name',
  notes: 'notes',
  tags: 'tags',
  sweepId: 'sweep_id',
  gain: 'gain',
};

const sweepOf = '(SELECT sweep_id FROM sweep_trials WHERE job_id = jobs.id)';
const gain = gainOf('jobs', 'id', 'result_metrics');
const selected = `SELECT jobs.*, ${sweepOf} AS sweep_id, ${gain} AS gain FROM jobs`;

/** What a list can be ordered by, as SQL. */
const orders: Readonly<Record<RunOrder, string>> = {
  name: 'lower(display_name)',
  data: "lower(model_name || ' ' || dataset_name)",
  tags: "nullif(lower(tags), '[]')",
  state: 'state',
  steps: "json_extract(last_metric, '$.step')",
  loss: "coalesce(json_extract(result_metrics, '$.final_loss'), json_extract(last_metric, '$.loss'))",
  eval_loss: "json_extract(result_metrics, '$.eval_loss')",
  gain,
  // Of the first grader.
  score:
    "(SELECT value FROM json_each(result_metrics) WHERE key LIKE 'grader:%' AND value IS NOT NULL LIMIT 1)",
  duration: "earlier_seconds + 86400 * (julianday(coalesce(ended_at, 'now')) - julianday(started_at))",
  created: 'created_at',
  task: 'task',
  strategy: 'strategy',
  provider: 'provider',
  notes: "nullif(lower(notes), '')",
};

function toRow(record: Record<string, unknown>): JobRow {
  const row: Record<string, unknown> = {};
  for (const [key, column] of Object.entries(columnNames)) {
    const value = record[column];
    if (jsonColumns.has(key)) row[key] = value === null ? null : JSON.parse(value as string);
    else if (booleanColumns.has(key)) row[key] = value === 1;
    else row[key] = value;
  }
  return row as unknown as JobRow;
}

function toColumn(key: string, value: unknown): unknown {
  if (jsonColumns.has(key)) return value === null ? null : JSON.stringify(value);
  if (booleanColumns.has(key)) return value ? 1 : 0;
  return value;
}

const searchable = {
  columns: {
    task: 'task',
    provider: 'provider',
    strategy: 'strategy',
    modelName: 'model_name',
    datasetName: 'dataset_name',
    validationName: "json_extract(spec, '$.validation.name')",
  },
  searched:
    "'train_' || id || ' ' || display_name || ' ' || notes || ' ' || tags || ' ' || model_name || ' ' || dataset_name || ' ' || state",
} as const;

/** Filters for `list`: states (any if empty) and values; newest first unless there is an order. */
export interface JobFilter extends Partial<Record<keyof typeof searchable.columns, string | undefined>> {
  readonly states: readonly string[];
  /** Words that are all in the name, notes, tags, number, model, dataset or state; in upper or lower case. */
  readonly search?: string | undefined;
  /** Tags that it has, all of them. */
  readonly tags?: readonly string[] | undefined;
  /** The sweep that they are trials of. */
  readonly sweepId?: number | undefined;
  /** What is unknown is last. */
  readonly order?: { readonly by: RunOrder; readonly down: boolean } | undefined;
  /** Whether the first trial of each sweep stands for the others. */
  readonly folded?: boolean | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** A page of jobs, and how many there are. */
export interface JobList<J = JobRow> {
  readonly jobs: J[];
  readonly total: number;
  /** Of `folded`: how many trials each job of a sweep stands for, itself included. */
  readonly trials: ReadonlyMap<number, number>;
}

interface Found {
  readonly id: number;
  readonly sweep: number | null;
}

/** The jobs without the trials of sweeps that come after the first of each, and the number of trials by the first. */
function fold(found: readonly Found[]): { ids: number[]; trials: Map<number, number> } {
  const first = new Map<number, number>();
  const trials = new Map<number, number>();
  const ids = found.flatMap(({ id, sweep }) => {
    if (sweep === null) return [id];
    const standing = first.get(sweep) ?? id;
    trials.set(standing, (trials.get(standing) ?? 0) + 1);
    if (standing !== id) return [];
    first.set(sweep, id);
    return [id];
  });
  return { ids, trials };
}

/** The table of jobs. */
export interface JobStore {
  insert(job: NewJob | KnownJob): number;
  update(id: number, change: JobChange): void;
  get(id: number): JobRow | null;
  /** The job that makes or made a model. */
  byModelId(modelId: string): JobRow | null;
  newest(): JobRow | null;
  /** The jobs whose names begin with a text, newest first. */
  named(beginning: string): Pick<JobRow, 'id' | 'displayName'>[];
  inStates(states: readonly string[]): JobRow[];
  list(filter: JobFilter): JobList;
  /** Jobs to be discarded. */
  toDiscard(): JobRow[];
  /** Jobs whose figures go to trackers. */
  tracked(): JobRow[];
  counts(): { readonly state: string; readonly count: number }[];
  facets(): Facets;
  remove(id: number): void;
  /** Caches a query until the table changes. */
  cached<T>(read: () => T): () => T;
}

export function createJobStore(db: Db): JobStore {
  /** Increases with every change, including rolled-back ones. */
  let revision = 0;
  const statements = new Map<string, Statement<unknown[]>>();
  const prepared = (sql: string) => {
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = db.prepare<unknown[]>(sql);
      statements.set(sql, statement);
    }
    return statement;
  };
  addSearch(db);
  const insert = db.prepare(
    `INSERT INTO jobs (id, model_id, state, task, provider, strategy, model_name, dataset_name, spec, created_at, display_name)
     VALUES (@id, @modelId, @state, @task, @provider, @strategy, @modelName, @datasetName, 'null', @createdAt, @displayName)`,
  );
  const get = db.prepare(`${selected} WHERE id = ?`);
  const byModelId = db.prepare(`${selected} WHERE model_id = ?`);
  const newest = db.prepare(`${selected} ORDER BY id DESC LIMIT 1`);
  const named = db.prepare(
    `SELECT id, display_name AS displayName FROM jobs
     WHERE display_name >= @beginning AND display_name < @beginning || char(0x10ffff) ORDER BY id DESC`,
  );
  const counts = db.prepare('SELECT state, count(*) AS count FROM jobs GROUP BY state ORDER BY state');
  const toDiscard = db.prepare(`${selected} WHERE discard_requested = 1 ORDER BY id`);
  const tracked = db.prepare(
    `${selected} WHERE json_extract(spec, '$.tracking.report_to') IS NOT NULL ORDER BY id`,
  );
  const remove = db.prepare('DELETE FROM jobs WHERE id = ?');
  const marks = (count: number) => Array(count).fill('?').join(', ');
  return {
    insert(job) {
      revision += 1;
      return Number(insert.run({ id: null, displayName: '', ...job }).lastInsertRowid);
    },
    update(id, change) {
      const names = Object.keys(change) as (keyof JobChange)[];
      const keys = names.filter((name) => change[name] !== undefined);
      if (keys.length === 0) return;
      const assignments = keys.map((key) => `${columnNames[key]} = ?`).join(', ');
      revision += 1;
      prepared(`UPDATE jobs SET ${assignments} WHERE id = ?`).run(
        ...keys.map((key) => toColumn(key, change[key])),
        id,
      );
    },
    get(id) {
      const record = get.get(id) as Record<string, unknown> | undefined;
      return record ? toRow(record) : null;
    },
    byModelId(modelId) {
      const record = byModelId.get(modelId) as Record<string, unknown> | undefined;
      return record ? toRow(record) : null;
    },
    newest() {
      const record = newest.get() as Record<string, unknown> | undefined;
      return record ? toRow(record) : null;
    },
    named: (beginning) => named.all({ beginning }) as Pick<JobRow, 'id' | 'displayName'>[],
    inStates(states) {
      const sql = `${selected} WHERE state IN (${marks(states.length)}) ORDER BY id`;
      return (prepared(sql).all(...states) as Record<string, unknown>[]).map(toRow);
    },
    list({ states, limit, offset, order, folded = false, ...wanted }) {
      const { conditions, values } = conditionsOf(searchable, wanted);
      if (states.length > 0) {
        conditions.push(`state IN (${marks(states.length)})`);
        values.push(...states);
      }
      if (wanted.sweepId !== undefined) {
        conditions.push('id IN (SELECT job_id FROM sweep_trials WHERE sweep_id = ?)');
        values.push(wanted.sweepId);
      }
      const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
      const by = order && `${orders[order.by]} ${order.down ? 'DESC' : 'ASC'} NULLS LAST, `;
      const isSearched = wanted.search !== undefined || (wanted.tags ?? []).length > 0;
      if (!isSearched && by === undefined && !folded) {
        const page = prepared(`${selected} ${where} ORDER BY id DESC LIMIT ? OFFSET ?`);
        const records = page.all(...values, limit, offset) as Record<string, unknown>[];
        const total = prepared(`SELECT count(*) FROM jobs ${where}`)
          .pluck()
          .get(...values) as number;
        return { jobs: records.map(toRow), total, trials: new Map() };
      }
      // The index has all that is searched, so that no specification is read for a run that is not shown.
      const from = isSearched ? 'jobs INDEXED BY jobs_by_identity' : 'jobs';
      const found = prepared(
        `SELECT id, ${folded ? sweepOf : 'NULL'} AS sweep FROM ${from} ${where} ORDER BY ${by ?? ''}id DESC`,
      ).all(...values) as Found[];
      const { ids, trials } = fold(found);
      const shown = ids.slice(offset, limit < 0 ? undefined : offset + limit);
      const jobs = shown.map((id) => toRow(get.get(id) as Record<string, unknown>));
      return { jobs, total: ids.length, trials };
    },
    toDiscard: () => (toDiscard.all() as Record<string, unknown>[]).map(toRow),
    tracked: () => (tracked.all() as Record<string, unknown>[]).map(toRow),
    counts: () => counts.all() as { state: string; count: number }[],
    facets: () => readFacets(db, 'jobs', 'model_name'),
    remove(id) {
      revision += 1;
      remove.run(id);
    },
    cached(read) {
      let readAt = -1;
      let value: ReturnType<typeof read>;
      return () => {
        // Reads within a transaction may still be rolled back.
        if (db.inTransaction) return read();
        if (readAt !== revision) {
          value = read();
          readAt = revision;
        }
        return value;
      };
    },
  };
}
