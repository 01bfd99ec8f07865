import type { Db } from '../open.ts';

/** The user's selection (task, model), kept across restarts: a small map of text to JSON. */
export interface SessionStore {
  get(key: string): unknown;
  set(key: string, value: unknown): void;
}

export function createSessionStore(db: Db): SessionStore {
  const get = db.prepare('SELECT value FROM session WHERE key = ?');
  const set = db.prepare(
    'INSERT INTO session (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
  );
  return {
    get(key) {
      const record = get.get(key) as { value: string } | undefined;
      return record === undefined ? undefined : JSON.parse(record.value);
    },
    set: (key, value) => void set.run(key, JSON.stringify(value)),
  };
}
