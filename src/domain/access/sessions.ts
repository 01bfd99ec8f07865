import { randomBytes } from 'node:crypto';
import type { AccessStore } from '../../db/tables/access.ts';
import type { SessionStore } from '../../db/tables/session.ts';
import { type AccessKeys, type KeyHolder, sha256 } from './access-keys.ts';

/** How long a browser stays signed in. */
export const sessionDays = 30;

/** The sessions of browsers, whose cookie has the token instead of the key. */
export interface Sessions {
  open(holder: KeyHolder): { readonly token: string; readonly expiresAt: string };
  /** The holder of a session's key, or null if there is no such session, it has expired or its key was removed. */
  find(token: string): KeyHolder | null;
  close(token: string): void;
}

/**
 * The name of this instance's cookie. Browsers send a cookie to every port of a host: with one name for all, signing in
 * to one Hone would sign out of another on the same host, or behind the same tunnel.
 */
export function cookieNameOf(store: SessionStore): string {
  let id = store.get('instance_id');
  if (typeof id !== 'string' || !/^[0-9a-f]{8}$/.test(id)) {
    id = randomBytes(4).toString('hex');
    store.set('instance_id', id);
  }
  return `hone_session_${id}`;
}

export function createSessions(
  store: AccessStore,
  keys: Pick<AccessKeys, 'holder'>,
  now: () => Date = () => new Date(),
): Sessions {
  return {
    open(holder) {
      const time = now();
      const createdAt = time.toISOString();
      store.removeEndedSessions(createdAt);
      const token = randomBytes(32).toString('base64url');
      const expiresAt = new Date(time.getTime() + sessionDays * 86_400_000).toISOString();
      store.insertSession({ hash: sha256(token), keyId: holder.id, createdAt, expiresAt });
      return { token, expiresAt };
    },
    find(token) {
      const session = store.getSession(sha256(token));
      return session === null || session.expiresAt <= now().toISOString() ? null : keys.holder(session.keyId);
    },
    close: (token) => store.removeSession(sha256(token)),
  };
}
