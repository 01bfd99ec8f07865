import type { Exchange } from '../exchange.ts';
import { Reply } from '../reply.ts';

/** How long a browser may remember the answer to a preflight request; Chromium's own upper bound. */
const preflightSeconds = 7_200;
const methods = 'GET, HEAD, POST, PUT, PATCH, DELETE';
/** Response headers that scripts need besides those that the Fetch standard always shows. */
const exposed = 'content-disposition, content-range, etag, retry-after, x-request-id';

/** Headers that let the page of an allowed origin read a response (Fetch standard, "CORS protocol"). */
export const crossOriginHeaders = (origin: string): Record<string, string> => ({
  'access-control-allow-origin': origin,
  'access-control-expose-headers': exposed,
  vary: 'origin',
});

/**
 * The response to a preflight request, which a browser sends without a key before the real one; `null` for other requests.
 * Any header is allowed: client libraries add their own.
 */
export function preflightReply(exchange: Exchange): Reply | null {
  if (exchange.method !== 'OPTIONS' || exchange.header('access-control-request-method') === undefined)
    return null;
  return new Reply(204, '', {
    'access-control-allow-methods': methods,
    'access-control-allow-headers': exchange.header('access-control-request-headers') ?? '*',
    'access-control-max-age': String(preflightSeconds),
    // A page on the internet may ask a service in a private network (Private Network Access, W3C).
    'access-control-allow-private-network': 'true',
  });
}
