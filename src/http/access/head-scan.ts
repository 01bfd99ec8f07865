import type { Call } from '../engines/engine.ts';

/** What must be known of all headers of a request before anything else: found in one pass. */
export interface HeadScan {
  /**
   * A header that came more than once but may come only once (RFC 9112, sections 3.2 and 6.3), because a proxy in front
   * may have gone by the other one; or `null`.
   */
  readonly repeated: 'host' | 'content-length' | null;
  /** Whether a proxy passed the request on. */
  readonly proxied: boolean;
}

/** Whether proxies add this header. */
export const isFromProxy = (name: string): boolean =>
  name.startsWith('x-forwarded-') || name === 'forwarded' || name === 'x-real-ip' || name === 'via';

export function scanHead(call: Pick<Call, 'eachHeader'>): HeadScan {
  let hosts = 0;
  let lengths = 0;
  let proxied = false;
  call.eachHeader((name) => {
    if (name === 'host') hosts += 1;
    else if (name === 'content-length') lengths += 1;
    else if (isFromProxy(name)) proxied = true;
  });
  return { repeated: hosts > 1 ? 'host' : lengths > 1 ? 'content-length' : null, proxied };
}
