import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Budget, type KeyScope, keyNamePattern, keyNameRule } from '../../contract/access.ts';
import type { AccessKeyRow, AccessStore } from '../../db/tables/access.ts';
import { AppError } from '../../errors.ts';

/** Whoever presented a valid key or session. */
export interface KeyHolder {
  /** The public part of the key. */
  readonly id: string;
  readonly name: string;
  readonly scope: KeyScope;
  /** What it may use in all; `null` unless its scope is `train`. */
  readonly budget: Budget | null;
  /** Whether the answers to its requests are kept, unless one says `store: false`. */
  readonly recording: boolean;
}

/** A stored key. Times are ISO 8601 UTC. */
export interface AccessKey extends KeyHolder {
  readonly createdAt: string;
  /** To the minute. */
  readonly lastUsedAt: string | null;
}

export interface AccessKeys {
  /**
   * Makes a key. @returns the key itself, which is stored nowhere, and its record.
   * @throws AppError `invalid` for a name that is empty, too long or has control characters, or a scope without its budget;
   *   `conflict` when there are as many keys as there may be.
   */
  add(
    wanted: Pick<KeyHolder, 'name' | 'scope'> & {
      readonly budget?: Budget | undefined;
      readonly recording?: boolean | undefined;
    },
  ): {
    readonly key: string;
    readonly record: AccessKey;
  };
  /** The stored keys, newest first: without that of the environment. */
  list(): AccessKey[];
  /** Turns the recording of a key on or off. @throws AppError `not_found`. */
  setRecording(id: string, recording: boolean): AccessKey;
  /** Removes a key and ends its sessions. @throws AppError `not_found`. */
  remove(id: string): void;
  /** The holder of a presented key, or null if it is none. */
  check(presented: string): KeyHolder | null;
  /** The holder of the key with this id while it exists. */
  holder(id: string): KeyHolder | null;
}

/** As many keys as there may be, so that the list stays one page. */
const maxKeys = 100;
/** How often the last use of a key is stored, in milliseconds. */
const lastUseMs = 60_000;

/** Whether a text has the form of a key with a budget. */
export const isOfTrain = (text: string): boolean => text.startsWith('hone_train_');

export const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * The access keys: `hone_<id of 8 characters>_<32 random bytes, base64url>`, with `hone_train_` for those with a budget.
 * @param environmentKey that of `HONE_ACCESS_KEY`, which opens everything.
 */
export function createAccessKeys(
  store: AccessStore,
  environmentKey: string | null,
  now: () => Date = () => new Date(),
): AccessKeys {
  const environment = environmentKey === null ? null : environmentHolder(environmentKey);

  const used = (row: AccessKeyRow): KeyHolder => {
    const time = now();
    if (row.lastUsedAt === null || time.getTime() - Date.parse(row.lastUsedAt) >= lastUseMs) {
      try {
        store.setLastUsed(row.id, time.toISOString());
      } catch {
        // A full disk does not keep out those who come to delete something.
      }
    }
    return holderOf(row);
  };

  return {
    add({ name, scope, budget: wanted, recording = false }) {
      const budget = wanted !== undefined && Object.keys(wanted).length > 0 ? wanted : null;
      const trimmed = name.trim();
      if (!keyNamePattern.test(trimmed)) {
        throw new AppError('invalid', `The name of an access key ${keyNameRule}.`);
      }
      if ((budget !== null) !== (scope === 'train')) {
        throw new AppError(
          'invalid',
          budget !== null
            ? `Only a key of the scope "train" has a budget, and not one of the scope "${scope}".`
            : 'A key of the scope "train" needs a budget with one of runs, minutes, energy_wh and disk_mb.',
        );
      }
      if (store.listKeys().length >= maxKeys) {
        throw new AppError(
          'conflict',
          `There are ${maxKeys} access keys already. Remove one that is not used.`,
        );
      }
      const id = randomBytes(4).toString('hex');
      const start = scope === 'train' ? 'hone_train' : 'hone';
      const key = `${start}_${id}_${randomBytes(32).toString('base64url')}`;
      const createdAt = now().toISOString();
      const record = { id, name: trimmed, scope, createdAt };
      store.insertKey({
        ...record,
        hash: sha256(key),
        budget: budget && JSON.stringify(budget),
        recording: Number(recording),
      });
      return { key, record: { ...record, budget, recording, lastUsedAt: null } };
    },
    list: () => store.listKeys().map(keyOf),
    setRecording(id, recording) {
      if (!store.setRecording(id, Number(recording))) throw noKey(id);
      return keyOf(store.getKey(id) as AccessKeyRow);
    },
    remove(id) {
      if (!store.removeKey(id)) throw noKey(id);
    },
    check(presented) {
      const hash = sha256(presented);
      if (environment !== null && timingSafeEqual(hash, environment.hash)) return environment.holder;
      const id = /^hone_(?:train_)?([0-9a-f]{8})_/.exec(presented)?.[1];
      const row = id === undefined ? null : store.getKey(id);
      return row !== null && timingSafeEqual(hash, row.hash) ? used(row) : null;
    },
    holder(id) {
      if (id === environment?.holder.id) return environment.holder;
      const row = store.getKey(id);
      return row === null ? null : used(row);
    },
  };
}

/** Its id follows from the key, so that sessions end when the variable is given another. */
function environmentHolder(key: string): { readonly hash: Buffer; readonly holder: KeyHolder } {
  const hash = sha256(key);
  const id = `environment-${sha256(hash.toString('hex')).toString('hex').slice(0, 16)}`;
  return { hash, holder: { id, name: 'HONE_ACCESS_KEY', scope: 'full', budget: null, recording: false } };
}

const holderOf = ({ id, name, scope, budget, recording }: AccessKeyRow): KeyHolder => ({
  id,
  name,
  scope: scope as KeyScope,
  budget: budget === null ? null : JSON.parse(budget),
  recording: recording === 1,
});

const keyOf = (row: AccessKeyRow): AccessKey => ({
  ...holderOf(row),
  createdAt: row.createdAt,
  lastUsedAt: row.lastUsedAt,
});

const noKey = (id: string) =>
  new AppError('not_found', `There is no access key with the ID "${id.slice(0, 100)}".`);
