import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../errors.ts';
import { attempts, type HubAccess, redact, uploadFactor } from './access.ts';
import { CountedBlob } from './counted-blob.ts';

/** Limit for responses of the hub's API, which are small. */
const answerLimitBytes = 64 * 2 ** 20;
const redirectLimit = 5;

/** Status codes of a busy or restarting hub. */
const passing: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

/** A part of an upload and its progress. */
export type OnSent = (path: string, part: number, sentBytes: number) => void;

/** A temporary failure: no connection, a timeout, or a busy hub. */
interface Trouble {
  readonly said: string;
  /** How long the hub asks to wait, or `null`. */
  readonly waitMs: number | null;
}

/**
 * The `fetch` used for every request to the hub.
 *
 * It adds the token to requests for the hub's origin only, and rejects redirects to other origins. Connection errors,
 * timeouts, 429 and 5xx are retried within limits; any other status is returned. Responses are read completely here, so that
 * interrupted ones are retried as well.
 *
 * @param doing what the requests are for, for messages: "asked for …".
 * @throws AppError `upstream` when the hub stays unreachable, busy or redirects elsewhere.
 */
export function createHubFetch(
  access: HubAccess,
  doing: string,
  options: { onSent?: OnSent; answerBytes?: number } = {},
): typeof fetch {
  const hub = new URL(access.endpoint);
  const unreachable = (said: string, cause?: unknown) =>
    new AppError(
      'upstream',
      `The model hub ${hub.origin} could not be ${doing}: ${redact(access, said)}. Check the network and HF_ENDPOINT, or try again later.`,
      { cause },
    );

  async function once(url: URL, init: RequestInit): Promise<Response | Trouble> {
    const ours = url.origin === hub.origin;
    const headers = new Headers(init.headers);
    headers.delete('authorization');
    if (ours && access.token !== null) headers.set('authorization', `Bearer ${access.token}`);
    const writes = (init.method ?? 'GET') !== 'GET';
    const silence = new Silence(access.patience.timeoutMs * (writes ? uploadFactor : 1), [
      init.signal,
      access.signal,
    ]);
    try {
      const response = await fetch(url, {
        ...init,
        headers,
        redirect: 'manual',
        signal: silence.signal,
        ...(init.body instanceof Blob ? { ...unbuffered, body: counted(init, silence) } : {}),
      });
      silence.heard();
      const body = await readWhole(response, silence, options.answerBytes ?? answerLimitBytes);
      if (passing.has(response.status)) {
        return { said: `it answered ${response.status}`, waitMs: retryAfterMs(response.headers) };
      }
      const answer = new Response(
        nullBodied.has(response.status) ? null : (body as Uint8Array<ArrayBuffer>),
        response,
      );
      Object.defineProperty(answer, 'url', { value: url.href });
      return answer;
    } catch (error) {
      if (error instanceof AppError) throw error;
      if (init.signal?.aborted || access.signal?.aborted) throw error;
      if (silence.fell) {
        return { said: `it did not respond for ${silence.limitMs / 1000} s`, waitMs: null };
      }
      const cause = (error as Error).cause as (Error & { code?: string }) | undefined;
      if (cause?.message === 'unexpected redirect') {
        throw unreachable('its storage redirects to another address, which Hone does not follow');
      }
      return { said: cause?.message || cause?.code || (error as Error).message, waitMs: null };
    } finally {
      silence.end();
    }
  }

  function counted(init: RequestInit, silence: Silence): Blob {
    // The library passes upload progress in a non-standard field.
    const { progressHint } = init as { progressHint?: { path?: string; part?: number } };
    return new CountedBlob(init.body as Blob, (sentBytes) => {
      silence.heard();
      options.onSent?.(progressHint?.path ?? '', progressHint?.part ?? 0, sentBytes);
    });
  }

  /** A request with retries. */
  async function persist(url: URL, init: RequestInit): Promise<Response> {
    let waitedMs = 0;
    for (let attempt = 1; ; attempt += 1) {
      const result = await once(url, init);
      if (result instanceof Response) return result;
      const { patience } = access;
      // Half of the wait is random, to spread retries.
      const drawn = patience.backoffMs * 2 ** (attempt - 1) * (0.75 + Math.random() / 2);
      const waitMs = result.waitMs ?? drawn;
      if (attempt === attempts) throw unreachable(`${result.said}, ${attempts} times`);
      if (waitedMs + waitMs > patience.waitMs) {
        throw unreachable(
          result.waitMs === null
            ? result.said
            : `${result.said} and asks to wait ${Math.ceil(result.waitMs / 1000)} s`,
        );
      }
      waitedMs += waitMs;
      await sleep(waitMs, undefined, { signal: access.signal });
    }
  }

  return async (input, init = {}) => {
    let url = new URL(input instanceof Request ? input.url : input);
    if (access.offline) {
      throw new AppError(
        'upstream',
        `The model hub ${hub.origin} is not ${doing}, because HF_HUB_OFFLINE is set. Unset it to use the hub.`,
      );
    }
    if (!/^https?:$/.test(url.protocol) || (hub.protocol === 'https:' && url.protocol === 'http:')) {
      throw unreachable(
        `it names an address at ${url.protocol}//${url.host}, which is less secure than its own`,
      );
    }
    for (let redirects = 0; redirects <= redirectLimit; redirects += 1) {
      const response = await persist(url, init);
      const location = response.headers.get('location');
      if (response.status < 300 || response.status >= 400 || location === null) return response;
      const next = URL.canParse(location, url) ? new URL(location, url) : null;
      // Renamed repositories redirect. The token and uploads must not go to other hosts.
      if (next === null || next.origin !== url.origin) {
        throw unreachable(
          `it redirects to another host (${next?.host ?? 'an unreadable address'}), which Hone does not follow`,
        );
      }
      url = next;
    }
    throw unreachable(`it redirects more than ${redirectLimit} times`);
  };
}

/**
 * Otherwise fetch keeps a copy of the whole body for redirects (Fetch, "HTTP-network-or-cache fetch", step 2), which would
 * hold a merged model in memory.
 */
const unbuffered = { redirect: 'error', window: null } as const;

/** Statuses that have no body (Fetch, "null body status"). */
const nullBodied: ReadonlySet<number> = new Set([101, 204, 205, 304]);

async function readWhole(response: Response, silence: Silence, limitBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    silence.heard();
    bytes += chunk.byteLength;
    if (bytes > limitBytes) throw new Error('its response is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * How long a response asks to wait, in milliseconds, or `null`: `Retry-After` (RFC 9110, 10.2.3: seconds or a
 * date), else the hub's own `RateLimit: "api";r=0;t=55` with seconds until the window ends.
 */
function retryAfterMs(headers: Headers): number | null {
  const text = headers.get('retry-after')?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  if (!Number.isNaN(at)) return Math.max(0, at - Date.now());
  const limit = /;\s*r=0\b.*;\s*t=(\d+)/.exec(headers.get('ratelimit') ?? '');
  return limit === null ? null : Number(limit[1]) * 1000;
}

/**
 * Aborts after a time without data, or with one of `others`. (`AbortSignal.any` would be shorter,
 * but Node 20 collects what it returns while a fetch still waits on it, and then nothing ever aborts.)
 */
export class Silence {
  readonly limitMs: number;
  /** Whether the timeout aborted it. */
  fell = false;
  private readonly controller = new AbortController();
  private readonly others: readonly AbortSignal[];
  private readonly timer: NodeJS.Timeout;

  constructor(limitMs: number, others: readonly (AbortSignal | null | undefined)[]) {
    this.limitMs = limitMs;
    this.others = others.filter((signal) => signal != null);
    this.timer = setTimeout(() => {
      this.fell = true;
      this.controller.abort();
    }, limitMs);
    for (const other of this.others) {
      if (other.aborted) this.abort();
      other.addEventListener('abort', this.abort);
    }
  }
  get signal(): AbortSignal {
    return this.controller.signal;
  }
  heard(): void {
    this.timer.refresh();
  }
  end(): void {
    clearTimeout(this.timer);
    for (const other of this.others) other.removeEventListener('abort', this.abort);
  }
  private readonly abort = (): void => this.controller.abort();
}
