import type { Db } from '../open.ts';

/** A stored grader, with its definition parsed. */
export interface GraderRow {
  readonly name: string;
  readonly definition: unknown;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** The table of graders. */
export interface GraderStore {
  /** Stores a grader, in place of an earlier one with its name. */
  put(grader: GraderRow): void;
  get(name: string): GraderRow | null;
  /** By name. */
  list(): GraderRow[];
  remove(name: string): void;
}

export function createGraderStore(db: Db): GraderStore {
  const columns = 'name, definition, created_at AS createdAt, updated_at AS updatedAt';
  const put = db.prepare(
    `INSERT INTO graders (name, definition, created_at, updated_at) VALUES (@name, @definition, @createdAt, @updatedAt)
     ON CONFLICT (name) DO UPDATE SET definition = excluded.definition, updated_at = excluded.updated_at`,
  );
  const get = db.prepare(`SELECT ${columns} FROM graders WHERE name = ?`);
  const list = db.prepare(`SELECT ${columns} FROM graders ORDER BY name`);
  const remove = db.prepare('DELETE FROM graders WHERE name = ?');
  const toGrader = (record: unknown): GraderRow => {
    const row = record as GraderRow & { definition: string };
    return { ...row, definition: JSON.parse(row.definition) };
  };
  return {
    put: (grader) => void put.run({ ...grader, definition: JSON.stringify(grader.definition) }),
    get(name) {
      const record = get.get(name);
      return record === undefined ? null : toGrader(record);
    },
    list: () => list.all().map(toGrader),
    remove: (name) => void remove.run(name),
  };
}
