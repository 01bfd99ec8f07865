import type { Db } from './open.ts';

/** A stored evaluation, with JSON columns parsed. */
export interface EvaluationRow {
  readonly id: number;
  readonly state: string;
  readonly subject: unknown;
  readonly dataset: string;
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
  Pick<EvaluationRow, 'state' | 'figures' | 'warnings' | 'error' | 'startedAt' | 'endedAt'>
>;

/** The tables of evaluations and of the results of their rows. */
export interface EvaluationStore {
  insert(evaluation: NewEvaluation): number;
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
    'id, state, subject, dataset, shape, rows, figures, warnings, error, created_at AS createdAt, started_at AS startedAt, ended_at AS endedAt';
  const insert = db.prepare(
    `INSERT INTO evaluations (state, subject, dataset, shape, rows, created_at)
     VALUES (@state, @subject, @dataset, @shape, @rows, @createdAt)`,
  );
  const get = db.prepare(`SELECT ${columns} FROM evaluations WHERE id = ?`);
  const list = db.prepare(`SELECT ${columns} FROM evaluations ORDER BY id DESC`);
  const update = db.prepare(
    `UPDATE evaluations SET state = @state, figures = @figures, warnings = @warnings, error = @error,
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
  return {
    insert: (row) => Number(insert.run({ ...row, subject: JSON.stringify(row.subject) }).lastInsertRowid),
    get: find,
    list: () => list.all().map(toEvaluation),
    update(id, change) {
      const row = { ...(find(id) as EvaluationRow), ...change };
      const { state, error, startedAt, endedAt } = row;
      const figures = row.figures === null ? null : JSON.stringify(row.figures);
      update.run({ id, state, figures, warnings: JSON.stringify(row.warnings), error, startedAt, endedAt });
    },
    remove: (id) => void remove.run(id),
    putResults(id, found) {
      for (const result of found) putResult.run(id, result.line, JSON.stringify(result));
    },
    results: (id) => results.all(id).map((record) => JSON.parse((record as { result: string }).result)),
  };
}
