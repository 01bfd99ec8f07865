import { isIP } from 'node:net';
import { AppError } from '../../errors.ts';

/** Which hosts and origins a request may name, besides the service's own. */
export interface AllowedSites {
  /** Host names in lower case. */
  readonly allowedHosts: readonly string[];
  /** Origins of pages elsewhere that may use the service, as `https://app.example`. */
  readonly allowedOrigins: readonly string[];
}

/** The host name of a `Host` header, without port and brackets, in lower case. */
function hostName(host: string): string {
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(host);
  return (bracketed ? (bracketed[1] as string) : host.replace(/:\d+$/, '')).toLowerCase();
}

/**
 * Rejects requests that a foreign web page could make a browser send: those with an unknown host name (DNS rebinding) and
 * those with a foreign or opaque origin (cross-site requests and WebSockets). Applies to every bind address.
 * @returns whether the origin is another site's that is allowed.
 * @throws AppError `forbidden` with the rejected value and the flag that allows it.
 */
export function guardOrigin(
  host: string | undefined,
  origin: string | undefined,
  { allowedHosts, allowedOrigins }: AllowedSites,
): boolean {
  const name = hostName(host ?? '');
  if (
    isIP(name) === 0 &&
    name !== 'localhost' &&
    !name.endsWith('.localhost') &&
    !allowedHosts.includes(name)
  ) {
    throw new AppError(
      'forbidden',
      `The host "${host ?? ''}" is not allowed. Use this machine's IP address or localhost, or start Hone with --allowed-host ${name || 'NAME'}.`,
    );
  }
  if (origin === undefined) return false;
  let originHost = '';
  try {
    originHost = new URL(origin).host.toLowerCase();
  } catch {
    // "null" and other opaque origins have no host.
  }
  if (originHost === (host ?? '').toLowerCase()) return false;
  if (allowedOrigins.includes(origin)) return true;
  const remedy =
    originHost === '' ? '' : ` If you trust this site, start Hone with --allow-origin ${origin}.`;
  throw new AppError('forbidden', `Requests from the origin "${origin}" are not allowed.${remedy}`);
}
