import type { Db } from '../open.ts';

/** What a key has used by a run (`ref` is its number) or a dataset (its name). */
export interface KeyUseRow {
  readonly keyId: string;
  readonly kind: 'run' | 'dataset';
  readonly ref: string;
  readonly minutes: number;
  readonly energyWh: number;
  readonly bytes: number;
}

/** What keys with a budget have used. */
export interface KeyUseStore {
  get(kind: KeyUseRow['kind'], ref: string): KeyUseRow | null;
  ofKey(keyId: string): KeyUseRow[];
  /** Of runs that have not ended. */
  unfinished(): KeyUseRow[];
  put(row: KeyUseRow): void;
  remove(kind: KeyUseRow['kind'], ref: string): void;
}

export function createKeyUseStore(db: Db): KeyUseStore {
  const columns = 'key_id AS keyId, kind, ref, minutes, energy_wh AS energyWh, bytes';
  const get = db.prepare(`SELECT ${columns} FROM key_uses WHERE kind = ? AND ref = ?`);
  const ofKey = db.prepare(`SELECT ${columns} FROM key_uses WHERE key_id = ?`);
  const unfinished = db.prepare(
    `SELECT ${columns} FROM key_uses JOIN jobs ON jobs.id = CAST(ref AS INTEGER)
     WHERE kind = 'run' AND state IN ('queued', 'starting', 'running', 'stopping')`,
  );
  const put = db.prepare(
    `INSERT OR REPLACE INTO key_uses (key_id, kind, ref, minutes, energy_wh, bytes)
     VALUES (@keyId, @kind, @ref, @minutes, @energyWh, @bytes)`,
  );
  const remove = db.prepare('DELETE FROM key_uses WHERE kind = ? AND ref = ?');
  return {
    get: (kind, ref) => (get.get(kind, ref) as KeyUseRow | undefined) ?? null,
    ofKey: (keyId) => ofKey.all(keyId) as KeyUseRow[],
    unfinished: () => unfinished.all() as KeyUseRow[],
    put: (row) => void put.run(row),
    remove: (kind, ref) => void remove.run(kind, ref),
  };
}
