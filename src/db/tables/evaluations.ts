import type { Db } from '../open.ts';

/** A stored evaluation, with JSON columns parsed. */
export interface EvaluationRow {
  readonly id: number;
  readonly state: string;
  readonly subject: unknown;
  readonly dataset: string;
  /** The SHA-256 of the rows that are scored; `null` until they are copied. */
  readonly rowsDigest: string | null;
  readonly shape: string;
  /** How many rows are scored. */
  readonly rows: number;
  /** `null` until it is completed. */
  readonly figures: Readonly<Record<string, number | null>> | null;
  readonly warnings: readonly string[];
  readonly error: string | null;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
}

export type NewEvaluation = Pick<
  EvaluationRow,
  'state' | 'subject' | 'dataset' | 'shape' | 'rows' | 'createdAt'
>;
export type EvaluationChange = Partial<
  Pick<EvaluationRow, 'state' | 'rowsDigest' | 'figures' | 'warnings' | 'error' | 'startedAt' | 'endedAt'>
>;

/** The tables of evaluations and of the results of their rows. */
export interface EvaluationStore {
  insert(evaluation: NewEvaluation): number;
  /** Stores an evaluation as it is given, with the results of its rows, in place of an earlier one with its ID. */
  put(evaluation: EvaluationRow, results: readonly { readonly line: number }[]): void;
  get(id: number): EvaluationRow | null;
  /** Newest first. */
  list(): EvaluationRow[];
  update(id: number, change: EvaluationChange): void;
  /** Deletes an evaluation with the results of its rows. */
  remove(id: number): void;
  putResults(id: number, results: readonly { readonly line: number }[]): void;
  /** The results of the rows of an evaluation, by line. */
  results(id: number): unknown[];
}

export function createEvaluationStore(db: Db): EvaluationStore {
  const columns =
    'id, state, subject, dataset, rows_digest AS rowsDigest, shape, rows, figures, warnings, error, created_at AS createdAt, started_at AS startedAt, ended_at AS endedAt';
  const insert = db.prepare(
    `INSERT INTO evaluations (state, subject, dataset, shape, rows, created_at)
     VALUES (@state, @subject, @dataset, @shape, @rows, @createdAt)`,
  );
  const insertWithId = db.prepare(
    `INSERT INTO evaluations (id, state, subject, dataset, shape, rows, created_at)
     VALUES (@id, @state, @subject, @dataset, @shape, @rows, @createdAt)`,
  );
  const get = db.prepare(`SELECT ${columns} FROM evaluations WHERE id = ?`);
  const list = db.prepare(`SELECT ${columns} FROM evaluations ORDER BY id DESC`);
  const update = db.prepare(
    `UPDATE evaluations SET state = @state, rows_digest = @rowsDigest, figures = @figures, warnings = @warnings, error = @error,
     started_at = @startedAt, ended_at = @endedAt WHERE id = @id`,
  );
  const remove = db.prepare('DELETE FROM evaluations WHERE id = ?');
  const putResult = db.prepare('INSERT INTO evaluation_rows (evaluation_id, line, result) VALUES (?, ?, ?)');
  const results = db.prepare('SELECT result FROM evaluation_rows WHERE evaluation_id = ? ORDER BY line');
  const toEvaluation = (record: unknown): EvaluationRow => {
    const row = record as Record<'subject' | 'figures' | 'warnings', string> & EvaluationRow;
    return {
      ...row,
      subject: JSON.parse(row.subject),
      figures: JSON.parse(row.figures ?? 'null'),
      warnings: JSON.parse(row.warnings),
    };
  };
  const find = (id: number) => {
    const record = get.get(id);
    return record === undefined ? null : toEvaluation(record);
  };
  function change(id: number, row: EvaluationRow): void {
    const { state, rowsDigest, error, startedAt, endedAt } = row;
    const figures = row.figures === null ? null : JSON.stringify(row.figures);
    const warnings = JSON.stringify(row.warnings);
    update.run({ id, state, rowsDigest, figures, warnings, error, startedAt, endedAt });
  }
  function putResults(id: number, found: readonly { readonly line: number }[]): void {
    for (const result of found) putResult.run(id, result.line, JSON.stringify(result));
  }
  const toRecord = ({ state, subject, dataset, shape, rows, createdAt }: NewEvaluation) => ({
    state,
    subject: JSON.stringify(subject),
    dataset,
    shape,
    rows,
    createdAt,
  });
  return {
    insert: (row) => Number(insert.run(toRecord(row)).lastInsertRowid),
    put(row, found) {
      remove.run(row.id);
      insertWithId.run({ id: row.id, ...toRecord(row) });
      change(row.id, row);
      putResults(row.id, found);
    },
    get: find,
    list: () => list.all().map(toEvaluation),
    update: (id, changes) => change(id, { ...(find(id) as EvaluationRow), ...changes }),
    remove: (id) => void remove.run(id),
    putResults,
    results: (id) => results.all(id).map((record) => JSON.parse((record as { result: string }).result)),
  };
}
