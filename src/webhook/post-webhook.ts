import { createHmac } from 'node:crypto';

/** Where webhooks are sent. */
export interface WebhookTarget {
  readonly url: string;
  /** Signs the messages; `null` leaves them unsigned. */
  readonly key: Buffer | null;
}

/** How a message was received. */
export type Receipt =
  | { readonly received: true }
  /** `passing` if a later attempt may succeed. */
  | { readonly received: false; readonly why: string; readonly passing: boolean };

/** Statuses of a busy or restarting receiver. */
const passing = (status: number) => status === 408 || status === 429 || status >= 500;

/**
 * Posts a message once, as the Standard Webhooks specification describes: with its ID, the time in seconds, and the
 * signature of both with the body. No redirect is followed. Never throws.
 *
 * @param id the same in every attempt.
 * @param signal gives up.
 * @param timeoutMs for the whole exchange.
 */
export async function postWebhook(
  { url, key }: WebhookTarget,
  { id, body }: { readonly id: string; readonly body: string },
  { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<Receipt> {
  const time = Math.floor(Date.now() / 1000);
  const signature =
    key === null ? null : createHmac('sha256', key).update(`${id}.${time}.${body}`).digest('base64');
  const giveUp = new AbortController();
  const timer = setTimeout(() => giveUp.abort(), timeoutMs);
  // Instead of AbortSignal.any, which Node 20 collects while a fetch still waits on it.
  const abort = () => giveUp.abort();
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  try {
    const headers = new Headers({
      'content-type': 'application/json',
      'user-agent': 'Hone',
      'webhook-id': id,
      'webhook-timestamp': String(time),
    });
    if (signature !== null) headers.set('webhook-signature', `v1,${signature}`);
    const init = { method: 'POST', redirect: 'manual', headers, body, signal: giveUp.signal } as const;
    const response = await fetch(url, init);
    await response.body?.cancel();
    const { status } = response;
    if (response.ok) return { received: true };
    const why =
      status >= 300 && status < 400
        ? `it redirects elsewhere (${status}), which Hone does not follow`
        : `it answered ${status}`;
    return { received: false, why, passing: passing(status) };
  } catch (error) {
    if (giveUp.signal.aborted) {
      return { received: false, why: `it did not answer for ${timeoutMs / 1000} s`, passing: true };
    }
    const cause = (error as Error).cause as (Error & { code?: string }) | undefined;
    const reason = cause?.code || cause?.message || (error as Error).message;
    return { received: false, why: `it cannot be reached (${reason})`, passing: true };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}
