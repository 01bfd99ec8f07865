import type { AppError } from '../../errors.ts';
import type { Credentials } from './credentials.ts';
import type { Peer } from './peers.ts';

/** What a request asks for: anything, or what a key for training or for inference opens, too. */
export type Area = 'full' | 'train' | 'inference';

/** Whose key a client presents. */
export interface Holder {
  readonly id: string;
  readonly name: string;
  readonly scope: Area;
  /** Whether the answers to its requests are kept. */
  readonly recording: boolean;
}

/** Decides who may use the service; the server asks it before anything else is done with a request. */
export interface Gate {
  /** The name of the cookie with a session's token. */
  readonly cookieName: string;
  /** Whether this client needs a key. */
  needsKey(peer: Peer): boolean;
  /** @throws AppError `unauthorized`, `forbidden` or `too_many`. */
  admit(peer: Peer, credentials: Credentials, area: Area): Holder;
  /** The holder of a key with a budget that a client presents who needs none. @throws AppError `forbidden`. */
  limit(credentials: Credentials, area: Area): Holder | null;
  /** Whether credentials that were admitted still would be: their key may have been removed. */
  knows(credentials: Credentials): boolean;
  /**
   * Checks a text that may name a file or folder of this machine.
   * @throws AppError `forbidden` when this client may not name it.
   */
  checkPath(peer: Peer, holder: Holder | null, kind: PathKind, text: string): void;
  /** An error as a client elsewhere may see it: nothing about the inside of this machine. */
  conceal(error: AppError): AppError;
}

/** What a field names, if it is no path: a model of the hub, or a stored file. */
export type PathKind = 'model' | 'file';
