import type { Db } from '../open.ts';

/** Something that was deleted. */
export interface BinRow {
  readonly id: string;
  readonly kind: string;
  /** What the API knows it by. */
  readonly ref: string;
  /** What people call it. */
  readonly name: string;
  /** Of its files and rows. */
  readonly bytes: number;
  readonly deletedAt: string;
  /** `false` while it is being deleted for good. */
  readonly kept: boolean;
  /** Where its files were, relative to the data directory. */
  readonly paths: readonly string[];
}

/** The rows of a table that have a value in a column. */
export interface RowsOf {
  readonly table: string;
  readonly column: string;
  readonly value: string | number;
}

/** A row as SQLite has it, by column. */
export type RawRow = Readonly<Record<string, unknown>>;

/** What was deleted and can be restored, with copies of its rows. */
export interface BinStore {
  /** Stores what is about to be deleted, with its rows. Its `bytes` are those of its files. */
  put(entry: BinRow, rows: readonly RowsOf[]): void;
  /** The oldest first. */
  list(): BinRow[];
  /** Inserts its rows again, as `change` returns them; rows beside the first one that are there again stay as they are. */
  restoreRows(id: string, change: (table: string, row: RawRow) => RawRow): void;
  /** Marks what is being deleted for good. */
  giveUp(id: string): void;
  remove(id: string): void;
}

export function createBinStore(db: Db): BinStore {
  const put = db.prepare(
    `INSERT INTO bin (id, kind, ref, name, bytes, deleted_at, kept, paths)
     VALUES (@id, @kind, @ref, @name, @bytes, @deletedAt, @kept, @paths)`,
  );
  const putRow = db.prepare('INSERT INTO bin_rows (bin_id, number, table_name, row) VALUES (?, ?, ?, ?)');
  const addBytes = db.prepare('UPDATE bin SET bytes = bytes + ? WHERE id = ?');
  const rows = db.prepare('SELECT table_name AS "table", row FROM bin_rows WHERE bin_id = ? ORDER BY number');
  const list = db.prepare(
    'SELECT id, kind, ref, name, bytes, deleted_at AS deletedAt, kept, paths FROM bin ORDER BY deleted_at, id',
  );
  const giveUp = db.prepare('UPDATE bin SET kept = 0 WHERE id = ?');
  const remove = db.prepare('DELETE FROM bin WHERE id = ?');
  /** The columns of a table that can be inserted: none that SQLite computes. */
  const columnsOf = (table: string) =>
    (db.pragma(`table_info(${table})`) as { name: string }[]).map(({ name }) => name);
  return {
    put(entry, selected) {
      put.run({ ...entry, kept: entry.kept ? 1 : 0, paths: JSON.stringify(entry.paths) });
      let number = 0;
      let bytes = 0;
      for (const { table, column, value } of selected) {
        const found = db
          .prepare(`SELECT ${columnsOf(table).join(', ')} FROM ${table} WHERE ${column} = ?`)
          .all(value);
        for (const row of found) {
          const text = JSON.stringify(row);
          bytes += Buffer.byteLength(text);
          putRow.run(entry.id, number++, table, text);
        }
      }
      addBytes.run(bytes, entry.id);
    },
    list: () =>
      (list.all() as (BinRow & { kept: unknown; paths: unknown })[]).map((row) => ({
        ...row,
        kept: (row.kept as unknown) === 1,
        paths: JSON.parse(row.paths as unknown as string),
      })),
    restoreRows(id, change) {
      let verb = 'INSERT';
      for (const { table, row } of rows.all(id) as { table: string; row: string }[]) {
        const changed = change(table, JSON.parse(row));
        const names = Object.keys(changed);
        db.prepare(
          `${verb} INTO ${table} (${names.join(', ')}) VALUES (${names.map((name) => `@${name}`).join(', ')})`,
        ).run(changed);
        verb = 'INSERT OR IGNORE';
      }
    },
    giveUp: (id) => void giveUp.run(id),
    remove: (id) => void remove.run(id),
  };
}
