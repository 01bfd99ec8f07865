import type { Db } from '../open.ts';
import { rememberRemovedKey } from '../removed-keys.ts';

/** An access key; `hash` is the SHA-256 of the whole key. */
export interface AccessKeyRow {
  readonly id: string;
  readonly name: string;
  readonly hash: Buffer;
  readonly scope: string;
  /** JSON; `null` unless the scope has one. */
  readonly budget: string | null;
  /** Whether the answers to its requests are kept: 1 or 0. */
  readonly recording: number;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
}

/** A session of a browser; `hash` is the SHA-256 of its cookie's token. */
export interface AccessSessionRow {
  readonly hash: Buffer;
  readonly keyId: string;
  readonly createdAt: string;
  readonly expiresAt: string;
}

/** The access keys and their sessions. */
export interface AccessStore {
  insertKey(
    key: Omit<AccessKeyRow, 'lastUsedAt' | 'budget' | 'recording'> &
      Partial<Pick<AccessKeyRow, 'budget' | 'recording'>>,
  ): void;
  getKey(id: string): AccessKeyRow | null;
  /** Newest first. */
  listKeys(): AccessKeyRow[];
  setLastUsed(id: string, time: string): void;
  /** @returns whether there is such a key. */
  setRecording(id: string, recording: number): boolean;
  /** Removes a key and its sessions, also from what a backup restores. @returns whether there was one. */
  removeKey(id: string): boolean;
  insertSession(session: AccessSessionRow): void;
  getSession(hash: Buffer): AccessSessionRow | null;
  removeSession(hash: Buffer): void;
  /** Removes the sessions that ended before `time`. */
  removeEndedSessions(time: string): void;
}

export function createAccessStore(db: Db, databasePath: string): AccessStore {
  const keyColumns =
    'id, name, hash, scope, budget, recording, created_at AS createdAt, last_used_at AS lastUsedAt';
  const insertKey = db.prepare(
    `INSERT INTO access_keys (id, name, hash, scope, budget, recording, created_at)
     VALUES (@id, @name, @hash, @scope, @budget, @recording, @createdAt)`,
  );
  const getKey = db.prepare(`SELECT ${keyColumns} FROM access_keys WHERE id = ?`);
  const listKeys = db.prepare(`SELECT ${keyColumns} FROM access_keys ORDER BY created_at DESC, rowid DESC`);
  const setLastUsed = db.prepare('UPDATE access_keys SET last_used_at = ? WHERE id = ?');
  const setRecording = db.prepare('UPDATE access_keys SET recording = ? WHERE id = ?');
  const removeKey = db.prepare('DELETE FROM access_keys WHERE id = ?');
  const insertSession = db.prepare(
    `INSERT INTO access_sessions (hash, key_id, created_at, expires_at)
     VALUES (@hash, @keyId, @createdAt, @expiresAt)`,
  );
  const getSession = db.prepare(
    `SELECT hash, key_id AS keyId, created_at AS createdAt, expires_at AS expiresAt
     FROM access_sessions WHERE hash = ?`,
  );
  const removeSession = db.prepare('DELETE FROM access_sessions WHERE hash = ?');
  const removeEnded = db.prepare('DELETE FROM access_sessions WHERE expires_at < ?');
  return {
    insertKey: (key) => void insertKey.run({ budget: null, recording: 0, ...key }),
    getKey: (id) => (getKey.get(id) as AccessKeyRow | undefined) ?? null,
    listKeys: () => listKeys.all() as AccessKeyRow[],
    setLastUsed: (id, time) => void setLastUsed.run(time, id),
    setRecording: (id, recording) => setRecording.run(recording, id).changes > 0,
    removeKey(id) {
      const key = getKey.get(id) as AccessKeyRow | undefined;
      if (key !== undefined) rememberRemovedKey(databasePath, key.hash);
      return removeKey.run(id).changes > 0;
    },
    insertSession: (session) => void insertSession.run(session),
    getSession: (hash) => (getSession.get(hash) as AccessSessionRow | undefined) ?? null,
    removeSession: (hash) => void removeSession.run(hash),
    removeEndedSessions: (time) => void removeEnded.run(time),
  };
}
