import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendJson } from './exchange.ts';

/** A way in which the hub fails, for requests whose `METHOD /path?query` matches. */
export interface Fault {
  readonly match: RegExp;
  /** How often; without end when it is left out. */
  times?: number;
  readonly how:
    | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: unknown }
    /** To the same path and query at an origin, or to exactly this address. */
    | { readonly redirect: string; readonly status?: number; readonly exactly?: boolean }
    | { readonly hang: true }
    /** Takes so many bytes of the body, then cuts the connection. */
    | { readonly dropAfterBytes: number }
    /** Sends so many bytes of the answer, then cuts the connection. */
    | { readonly cutAfterBytes: number }
    /** Sends so many bytes of the answer, and then nothing. */
    | { readonly stallAfterBytes: number }
    /** Answers after a while, as it would have. */
    | { readonly delayMs: number };
}

/** Fails as the first fault says that matches; false when none does, or when it was but late. */
export async function misbehave(
  faults: readonly Fault[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const line = `${request.method} ${request.url}`;
  const fault = faults.find(({ match, times }) => match.test(line) && (times ?? 1) > 0);
  if (fault === undefined) return false;
  if (fault.times !== undefined) fault.times -= 1;
  const { how } = fault;
  if ('delayMs' in how) {
    await new Promise((resolve) => setTimeout(resolve, how.delayMs));
    return false;
  }
  if ('cutAfterBytes' in how) {
    const { end } = response;
    response.end = ((bytes: Buffer) => {
      response.end = end;
      response.write(bytes.subarray(0, how.cutAfterBytes), () => request.socket.destroy());
      return response;
    }) as typeof response.end;
    return false;
  }
  if ('stallAfterBytes' in how) {
    response.end = ((bytes: Buffer) => {
      response.write(bytes.subarray(0, how.stallAfterBytes));
      return response;
    }) as typeof response.end;
    return false;
  }
  if ('hang' in how) return true;
  if ('dropAfterBytes' in how) {
    let bytes = 0;
    for await (const chunk of request) {
      bytes += (chunk as Buffer).length;
      if (bytes >= how.dropAfterBytes) break;
    }
    request.socket.destroy();
    return true;
  }
  request.resume();
  if ('redirect' in how) {
    const location = how.exactly ? how.redirect : how.redirect + request.url;
    response.writeHead(how.status ?? 307, { location }).end();
  } else sendJson(response, how.status, how.body ?? { error: `told to answer ${how.status}` }, how.headers);
  return true;
}
