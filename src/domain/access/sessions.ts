import { randomBytes } from 'node:crypto';
import type { AccessStore } from '../../db/access.ts';
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
