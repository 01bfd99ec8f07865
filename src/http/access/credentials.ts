/** The keys that a request presents: in its header and in its cookie. A query string is never looked at. */
export interface Credentials {
  /** The token of `Authorization: Bearer` (RFC 6750). */
  readonly bearer: string | null;
  /** The token of the cookie `hone_session`. */
  readonly session: string | null;
}

const cookieName = 'hone_session';

/** @param header the value of a header, or `undefined` or an empty text. */
export function credentialsOf(header: (name: 'authorization' | 'cookie') => string | undefined): Credentials {
  return {
    bearer: /^bearer +(\S+) *$/i.exec(header('authorization') ?? '')?.[1] ?? null,
    session: new RegExp(`(?:^|;\\s*)${cookieName}=([\\w-]+)`).exec(header('cookie') ?? '')?.[1] ?? null,
  };
}

/**
 * The `Set-Cookie` of a session: scripts cannot read it, and other sites cannot make a browser send it.
 * @param maxAgeSeconds 0 removes it.
 */
export const sessionCookie = (token: string, maxAgeSeconds: number, secure: boolean): string =>
  `${cookieName}=${token}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${maxAgeSeconds}${secure ? '; Secure' : ''}`;
