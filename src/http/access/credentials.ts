/** The keys that a request presents: in its header and in its cookie. A query string is never looked at. */
export interface Credentials {
  /** The token of `Authorization: Bearer` (RFC 6750), or that of `x-api-key`, which Anthropic's clients send. */
  readonly bearer: string | null;
  /** The token of the session's cookie. */
  readonly session: string | null;
}

/**
 * @param header the value of a header, or `undefined` or an empty text.
 * @param cookieName of word characters
 */
export function credentialsOf(
  header: (name: 'authorization' | 'x-api-key' | 'cookie') => string | undefined,
  cookieName: string,
): Credentials {
  return {
    bearer: /^bearer +(\S+) *$/i.exec(header('authorization') ?? '')?.[1] ?? (header('x-api-key') || null),
    session: new RegExp(`(?:^|;\\s*)${cookieName}=([\\w-]+)`).exec(header('cookie') ?? '')?.[1] ?? null,
  };
}

/**
 * The `Set-Cookie` of a session: scripts cannot read it, and other sites cannot make a browser send it.
 * @param maxAgeSeconds 0 removes it.
 */
export const sessionCookie = (
  cookieName: string,
  token: string,
  maxAgeSeconds: number,
  secure: boolean,
): string =>
  `${cookieName}=${token}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${maxAgeSeconds}${secure ? '; Secure' : ''}`;
