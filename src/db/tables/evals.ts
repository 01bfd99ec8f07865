import type { Db } from '../open.ts';

/** An object of OpenAI's API, in its format. */
type Stored = { readonly id: string; readonly [field: string]: unknown };

/** A run as it is added: with how a model is asked (`null` if rows have answers), and its rows or scored items. */
export interface NewEvalRun {
  readonly run: Stored & { readonly eval_id: string };
  readonly asks: unknown;
  readonly rows: readonly { readonly id: string; readonly row?: unknown; readonly object?: unknown }[];
}

/** Which objects of a list are wanted. */
export interface EvalPage {
  /** The ID after which the page begins; it must be in the list. */
  readonly after: string | null;
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  readonly status?: string | undefined;
}

/** A file of the purpose `evals`. */
export interface EvalFileRow {
  readonly id: string;
  readonly filename: string;
  readonly content: string;
  readonly createdAt: string;
  readonly expiresAt: string | null;
}

/** The tables of evals, their runs with rows and output items, and their files. */
export interface EvalStore {
  /** Stores an eval, in place of an earlier one with its ID. @param updatedAt in Unix seconds. */
  put(object: Stored, updatedAt: number): void;
  get(id: string): unknown;
  count(): number;
  list(page: EvalPage & { readonly orderBy: 'created_at' | 'updated_at' }): unknown[];
  /** Deletes an eval with its runs. */
  remove(id: string): void;
  addRun(run: NewEvalRun): void;
  putRun(run: Stored): void;
  getRun(id: string): unknown;
  /** How the model of a run is asked. */
  asksOf(runId: string): unknown;
  listRuns(evalId: string, page: EvalPage): unknown[];
  /** The IDs of runs with a status, oldest first. */
  runIds(status: string, evalId?: string): string[];
  removeRun(id: string): void;
  /** The first rows of a run that are not scored yet. */
  waiting(runId: string, limit: number): { readonly id: string; readonly row: unknown }[];
  /** Stores an output item in place of its row. */
  putItem(item: Stored): void;
  getItem(id: string): unknown;
  listItems(runId: string, page: EvalPage): unknown[];
  putFile(file: EvalFileRow): void;
  getFile(id: string): EvalFileRow | null;
  /** Without their content, but its size. */
  files(): (Omit<EvalFileRow, 'content'> & { readonly bytes: number })[];
  removeFile(id: string): void;
}

const parsed = (text: unknown): unknown => (text == null ? null : JSON.parse(text as string));

/** Lists the objects of a table in the order of a column and of `number`. */
function lister(db: Db, table: string, parent: string | null) {
  return (parentId: string | null, key: string, { after, limit, order, status }: EvalPage): unknown[] => {
    const [direction, comes] = order === 'asc' ? ['ASC', '>'] : ['DESC', '<'];
    const wanted = [
      'object IS NOT NULL',
      ...(parent === null ? [] : [`${parent} = @parentId`]),
      ...(status === undefined ? [] : ['status = @status']),
      ...(after === null
        ? []
        : [`(${key}, number) ${comes} (SELECT ${key}, number FROM ${table} WHERE id = @after)`]),
    ];
    const found = db
      .prepare(
        `SELECT object FROM ${table} WHERE ${wanted.join(' AND ')}
         ORDER BY ${key} ${direction}, number ${direction} LIMIT @limit`,
      )
      .pluck()
      .all({ parentId, status, after, limit });
    return found.map(parsed);
  };
}

export function createEvalStore(db: Db): EvalStore {
  const put = db.prepare(
    `INSERT INTO evals (id, object, updated_at) VALUES (@id, @object, @updatedAt)
     ON CONFLICT (id) DO UPDATE SET object = excluded.object, updated_at = excluded.updated_at`,
  );
  const objectOf = (table: string) => db.prepare(`SELECT object FROM ${table} WHERE id = ?`).pluck();
  const [get, getRun, getItem] = [objectOf('evals'), objectOf('eval_runs'), objectOf('eval_items')];
  const count = db.prepare('SELECT count(*) FROM evals').pluck();
  const remove = db.prepare('DELETE FROM evals WHERE id = ?');
  const removeRun = db.prepare('DELETE FROM eval_runs WHERE id = ?');
  const addRun = db.prepare(
    'INSERT INTO eval_runs (id, eval_id, object, asks) VALUES (@id, @evalId, @object, @asks)',
  );
  const putRun = db.prepare('UPDATE eval_runs SET object = @object WHERE id = @id');
  const asksOf = db.prepare('SELECT asks FROM eval_runs WHERE id = ?').pluck();
  const runIds = db
    .prepare(
      'SELECT id FROM eval_runs WHERE status = @status AND eval_id = coalesce(@evalId, eval_id) ORDER BY number',
    )
    .pluck();
  const addItem = db.prepare(
    'INSERT INTO eval_items (id, run_id, row, object) VALUES (@id, @runId, @row, @object)',
  );
  const waiting = db.prepare(
    'SELECT id, row FROM eval_items WHERE run_id = ? AND row IS NOT NULL ORDER BY number LIMIT ?',
  );
  const putItem = db.prepare('UPDATE eval_items SET row = NULL, object = @object WHERE id = @id');
  const fileColumns = 'id, filename, created_at AS createdAt, expires_at AS expiresAt';
  const putFile = db.prepare(
    `INSERT INTO eval_files (id, filename, content, created_at, expires_at)
     VALUES (@id, @filename, @content, @createdAt, @expiresAt)`,
  );
  const getFile = db.prepare(`SELECT ${fileColumns}, content FROM eval_files WHERE id = ?`);
  const files = db.prepare(`SELECT ${fileColumns}, octet_length(content) AS bytes FROM eval_files`);
  const removeFile = db.prepare('DELETE FROM eval_files WHERE id = ?');
  const list = lister(db, 'evals', null);
  const listRuns = lister(db, 'eval_runs', 'eval_id');
  const listItems = lister(db, 'eval_items', 'run_id');
  const json = (value: unknown) => (value == null ? null : JSON.stringify(value));
  return {
    put: (object, updatedAt) => void put.run({ id: object.id, object: json(object), updatedAt }),
    get: (id) => parsed(get.get(id)),
    count: () => count.get() as number,
    list: ({ orderBy, ...page }) => list(null, orderBy, page),
    remove: (id) => void remove.run(id),
    addRun({ run, asks, rows }) {
      addRun.run({ id: run.id, evalId: run.eval_id, object: json(run), asks: json(asks) });
      for (const { id, row, object } of rows)
        addItem.run({ id, runId: run.id, row: json(row), object: json(object) });
    },
    putRun: (run) => void putRun.run({ id: run.id, object: json(run) }),
    getRun: (id) => parsed(getRun.get(id)),
    asksOf: (runId) => parsed(asksOf.get(runId)),
    listRuns: (evalId, page) => listRuns(evalId, 'created_at', page),
    runIds: (status, evalId) => runIds.all({ status, evalId: evalId ?? null }) as string[],
    removeRun: (id) => void removeRun.run(id),
    waiting: (runId, limit) =>
      waiting.all(runId, limit).map((record) => {
        const { id, row } = record as { id: string; row: string };
        return { id, row: parsed(row) };
      }),
    putItem: (item) => void putItem.run({ id: item.id, object: json(item) }),
    getItem: (id) => parsed(getItem.get(id)),
    listItems: (runId, page) => listItems(runId, 'number', page),
    putFile: (file) => void putFile.run(file),
    getFile: (id) => (getFile.get(id) as EvalFileRow | undefined) ?? null,
    files: () => files.all() as ReturnType<EvalStore['files']>,
    removeFile: (id) => void removeFile.run(id),
  };
}
