import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { AccessMode, KeyScope } from '../../contract/access.ts';
import { AppError } from '../../errors.ts';
import { type AccessKeys, isOfTrain, type KeyHolder, sha256 } from './access-keys.ts';
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
  /** @returns whose key or session it is. @throws AppError `unauthorized`, `forbidden` or `too_many`. */
  admit(client: Client, presented: Presented, area: KeyScope): KeyHolder;
  /**
   * The holder of a key of the scope `train` that a client presents who needs none: its budget holds for them, too.
   * @throws AppError `forbidden`; `unauthorized` for one that is no longer valid.
   */
  limit(presented: Presented, area: KeyScope): KeyHolder | null;
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
const notValid = `This access key is not valid, or was removed. ${howToGetKey}.`;

/** What a key is for, by its scope. */
const uses = {
  full: 'everything',
  train: 'looking, asking, and training within its budget',
  inference: 'the models, answers and embeddings of /v1',
} as const satisfies Record<KeyScope, string>;
/** Each scope opens what those after it do. */
const scopes = Object.keys(uses);

function checkScope({ name, scope }: KeyHolder, area: KeyScope): void {
  if (scopes.indexOf(scope) <= scopes.indexOf(area)) return;
  throw new AppError(
    'forbidden',
    `The access key "${name}" is for ${uses[scope]} only. Use one of the scope "full".`,
  );
}

/** @param now in milliseconds, of any origin. */
export function createAccess(
  options: { mode: AccessMode; keys: AccessKeys; sessions: Sessions; cookieName: string },
  now?: () => number,
): Access {
  const { mode, keys, sessions, cookieName } = options;
  const wrongKeys = createWrongKeys(now);
  const ownKey = randomBytes(32).toString('base64url');
  const ownHash = sha256(ownKey);
  const self: KeyHolder = {
    id: 'service',
    name: 'this machine',
    scope: 'full',
    budget: null,
    recording: false,
  };

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
            : notValid,
        );
      }
      checkScope(holder, area);
      return holder;
    },
    limit({ bearer }, area) {
      if (bearer === null) return null;
      const holder = ofKey(bearer);
      if (holder === null && isOfTrain(bearer)) throw new AppError('unauthorized', notValid);
      if (holder?.scope !== 'train') return null;
      checkScope(holder, area);
      return holder;
    },
    knows: ({ bearer, session }) => (bearer === null ? ofSession(session) : ofKey(bearer)) !== null,
    signIn(client, key) {
      const holder = ofGuess(client, key);
      if (holder === null) {
        throw new AppError('unauthorized', notValid);
      }
      if (holder.scope !== 'full') {
        throw new AppError(
          'forbidden',
          `The access key "${holder.name}" is for ${uses[holder.scope]} only, so it does not open the page. Use one of the scope "full".`,
        );
      }
      return { token: sessions.open(holder).token, holder };
    },
    signOut: (token) => sessions.close(token),
  };
}
