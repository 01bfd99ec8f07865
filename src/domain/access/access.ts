import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { AccessMode, KeyScope } from '../../contract/access.ts';
import { AppError } from '../../errors.ts';
import { type AccessKeys, type KeyHolder, sha256 } from './access-keys.ts';
import type { Sessions } from './sessions.ts';
import { createWrongKeys } from './wrong-keys.ts';

/** A client: its address, and whether it is on this machine. */
export interface Client {
  readonly address: string;
  readonly isLocal: boolean;
}

/** What a client presents: an access key, and the token of a session. */
export interface Presented {
  readonly bearer: string | null;
  readonly session: string | null;
}

/** Decides who may use the service. */
export interface Access {
  readonly mode: AccessMode;
  /** The name of the cookie with a session's token. */
  readonly cookieName: string;
  /**
   * Opens everything until this process ends. It is written to a file that only this user can read, for `hone stop` and the
   * demo.
   */
  readonly ownKey: string;
  needsKey(client: Client): boolean;
  /**
   * Whose key or session is presented, or null.
   * @throws AppError `too_many` when too many wrong keys came from this address.
   */
  holderOf(client: Client, presented: Presented): KeyHolder | null;
  /** @throws AppError `unauthorized`, `forbidden` or `too_many`. */
  admit(client: Client, presented: Presented, area: KeyScope): void;
  /** Whether what is presented is still valid. Wrong keys are not counted. */
  knows(presented: Presented): boolean;
  /**
   * Opens a session with a key.
   * @throws AppError `unauthorized`, `forbidden` for a key that does not open the page, or `too_many`.
   */
  signIn(client: Client, key: string): { readonly token: string; readonly holder: KeyHolder };
  signOut(token: string): void;
}

const howToGetKey = 'Make one with "hone key add" on the machine of the service';

/** @param now in milliseconds, of any origin. */
export function createAccess(
  options: { mode: AccessMode; keys: AccessKeys; sessions: Sessions; cookieName: string },
  now?: () => number,
): Access {
  const { mode, keys, sessions, cookieName } = options;
  const wrongKeys = createWrongKeys(now);
  const ownKey = randomBytes(32).toString('base64url');
  const ownHash = sha256(ownKey);
  const self: KeyHolder = { id: 'service', name: 'this machine', scope: 'full' };

  const ofKey = (key: string) => (timingSafeEqual(sha256(key), ownHash) ? self : keys.check(key));

  function ofGuess(client: Client, key: string): KeyHolder | null {
    // Also before a right key, or guessing could go on.
    wrongKeys.check(client.address);
    const holder = ofKey(key);
    if (holder === null) wrongKeys.note(client.address);
    return holder;
  }

  const ofSession = (token: string | null) => (token === null ? null : sessions.find(token));

  function holderOf(client: Client, { bearer, session }: Presented): KeyHolder | null {
    // A session's token cannot be guessed, and a page whose session has ended asks often.
    return bearer === null ? ofSession(session) : ofGuess(client, bearer);
  }

  return {
    mode,
    cookieName,
    ownKey,
    needsKey: ({ isLocal }) => mode === 'key' || (mode === 'auto' && !isLocal),
    holderOf,
    admit(client, presented, area) {
      const holder = holderOf(client, presented);
      if (holder === null) {
        throw new AppError(
          'unauthorized',
          presented.bearer === null
            ? `An access key is needed. Send it as "Authorization: Bearer KEY", or sign in on the page. ${howToGetKey}.`
            : `This access key is not valid, or was removed. ${howToGetKey}.`,
        );
      }
      if (holder.scope === 'inference' && area !== 'inference') {
        throw new AppError(
          'forbidden',
          `The access key "${holder.name}" is for the models, answers and embeddings of /v1 only. Use one of the scope "full".`,
        );
      }
    },
    knows: ({ bearer, session }) => (bearer === null ? ofSession(session) : ofKey(bearer)) !== null,
    signIn(client, key) {
      const holder = ofGuess(client, key);
      if (holder === null) {
        throw new AppError('unauthorized', `This access key is not valid, or was removed. ${howToGetKey}.`);
      }
      if (holder.scope !== 'full') {
        throw new AppError(
          'forbidden',
          `The access key "${holder.name}" is for the models, answers and embeddings of /v1 only, so it does not open the page. Use one of the scope "full".`,
        );
      }
      return { token: sessions.open(holder).token, holder };
    },
    signOut: (token) => sessions.close(token),
  };
}
