import type { Db } from '../../open.ts';

/** What a model is asked about, and what came of it. JSON columns are parsed. */
export interface SourceRow {
  readonly number: number;
  readonly source: unknown;
  /** `null` until the model has answered. */
  readonly answer: unknown;
  /** The rows that are kept; `null` until it is decided. */
  readonly rows: readonly unknown[] | null;
}

/** The tables of datasets that are made by asking a model. */
export interface RowMakingStore {
  /** Adds a making with its sources, in their order. @returns its number. */
  add(record: object, sources: readonly object[]): number;
  put(number: number, record: object): void;
  get(number: number): unknown;
  /** The newest first. */
  list(): { readonly number: number; readonly record: unknown }[];
  /** The oldest first. */
  numbers(state: string): number[];
  remove(number: number): void;
  /** The sources after one, in their order. */
  sources(making: number, after: number, limit: number): SourceRow[];
  answered(source: number, answer: object): void;
  decided(source: number, rows: readonly unknown[]): void;
}

export function createRowMakingStore(db: Db): RowMakingStore {
  const add = db.prepare('INSERT INTO row_makings (record) VALUES (?)');
  const addSource = db.prepare('INSERT INTO row_sources (making, source) VALUES (?, ?)');
  const put = db.prepare('UPDATE row_makings SET record = ? WHERE number = ?');
  const get = db.prepare('SELECT record FROM row_makings WHERE number = ?').pluck();
  const list = db.prepare('SELECT number, record FROM row_makings ORDER BY number DESC');
  const numbers = db.prepare('SELECT number FROM row_makings WHERE state = ? ORDER BY number').pluck();
  const remove = db.prepare('DELETE FROM row_makings WHERE number = ?');
  const sources = db.prepare(
    'SELECT number, source, answer, rows FROM row_sources WHERE making = ? AND number > ? ORDER BY number LIMIT ?',
  );
  const answered = db.prepare('UPDATE row_sources SET answer = ? WHERE number = ?');
  const decided = db.prepare('UPDATE row_sources SET rows = ? WHERE number = ?');
  const parsed = (text: string | null) => (text === null ? null : JSON.parse(text));
  return {
    add: db.transaction((record: object, given: readonly object[]) => {
      const making = Number(add.run(JSON.stringify(record)).lastInsertRowid);
      for (const source of given) addSource.run(making, JSON.stringify(source));
      return making;
    }),
    put: (number, record) => void put.run(JSON.stringify(record), number),
    get: (number) => parsed((get.get(number) as string | undefined) ?? null),
    list: () =>
      (list.all() as { number: number; record: string }[]).map(({ number, record }) => ({
        number,
        record: parsed(record),
      })),
    numbers: (state) => numbers.all(state) as number[],
    remove: (number) => void remove.run(number),
    sources: (making, after, limit) =>
      (
        sources.all(making, after, limit) as {
          number: number;
          source: string;
          answer: string | null;
          rows: string | null;
        }[]
      ).map(({ number, source, answer, rows }) => ({
        number,
        source: parsed(source),
        answer: parsed(answer),
        rows: parsed(rows),
      })),
    answered: (source, answer) => void answered.run(JSON.stringify(answer), source),
    decided: (source, rows) => void decided.run(JSON.stringify(rows), source),
  };
}
