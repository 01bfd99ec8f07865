import { AppError } from '../errors.ts';
import { failure, garbage, type RemoteAccess } from './access.ts';
import { readEvents } from './events.ts';
import { refusal, streamedFailure } from './refusal.ts';

/** Refusals are short. */
const refusalBytes = 2 ** 20;

/** An answer with success. One of the two is read, once. */
export interface RemoteAnswer {
  /** Whether its body is server-sent events. */
  readonly isStream: boolean;
  text(): Promise<string>;
  /** The data of each event. */
  events(): AsyncGenerator<string>;
  /** The error for an answer that OpenAI's API does not have. */
  garbage(what: string, cause?: unknown): AppError;
  /** The error for an event that says that the answer failed. */
  failed(event: string): AppError;
}

/**
 * Posts JSON to a path below a model's URL. No redirect is followed, because the key would go along, and nothing is sent
 * twice.
 *
 * @param signal gives up.
 * @param take reads the answer; what is not read when it ends is dropped.
 * @throws AppError of the refusal; `upstream` for what cannot be reached, is silent, breaks off or is too long.
 */
export async function askRemote<T>(
  access: RemoteAccess,
  path: string,
  body: object,
  signal: AbortSignal,
  take: (answer: RemoteAnswer) => Promise<T>,
): Promise<T> {
  const { firstByteMs, silenceMs, answerBytes } = access.bounds;
  const stop = new AbortController();
  // Instead of AbortSignal.any, which Node 20 collects while a fetch still waits on it.
  const abort = () => stop.abort();
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  let hasBegun = false;

  /** Waits so long for a part of the answer. */
  async function within<R>(ms: number, part: Promise<R>): Promise<R> {
    let isSilent = false;
    const timer = setTimeout(() => {
      isSilent = true;
      stop.abort();
    }, ms);
    try {
      return await part;
    } catch (error) {
      if (signal.aborted) throw new AppError('invalid', 'The client left before the answer was complete.');
      if (isSilent) throw failure(access, `did not answer for ${ms / 1000} s. Try again later.`, error);
      throw lost(access, hasBegun, error);
    } finally {
      clearTimeout(timer);
    }
  }

  async function* pieces(response: Response, limitBytes: number): AsyncGenerator<Uint8Array> {
    if (response.body === null) return;
    const reader = response.body.getReader();
    let bytes = 0;
    for (;;) {
      const { done, value } = await within(bytes === 0 ? firstByteMs : silenceMs, reader.read());
      if (done) return;
      bytes += value.byteLength;
      if (bytes > limitBytes)
        throw failure(access, `gave an answer of more than ${limitBytes} bytes, which is too long.`);
      yield value;
    }
  }

  async function textOf(response: Response, limitBytes: number): Promise<string> {
    const all: Uint8Array[] = [];
    for await (const piece of pieces(response, limitBytes)) all.push(piece);
    return Buffer.concat(all).toString('utf8');
  }

  try {
    const headers = new Headers({ 'content-type': 'application/json', 'user-agent': 'Hone' });
    if (access.key !== null) headers.set('authorization', `Bearer ${access.key}`);
    const response = await within(
      firstByteMs,
      fetch(`${access.url}${path}`, {
        method: 'POST',
        redirect: 'manual',
        headers,
        body: JSON.stringify(body),
        signal: stop.signal,
      }),
    );
    hasBegun = true;
    if (!response.ok) throw refusal(access, response, await textOf(response, refusalBytes).catch(() => ''));
    return await take({
      isStream: /^text\/event-stream\s*(;|$)/i.test(response.headers.get('content-type') ?? ''),
      text: () => textOf(response, answerBytes),
      events: () =>
        readEvents(pieces(response, answerBytes), () => garbage(access, 'streamed a line without end')),
      garbage: (what, cause) => garbage(access, what, cause),
      failed: (event) => streamedFailure(access, event),
    });
  } finally {
    signal.removeEventListener('abort', abort);
    // The connection of an answer that was not read to its end is of no use.
    stop.abort();
  }
}

/** The error for a connection that failed. */
function lost(access: RemoteAccess, hasBegun: boolean, error: unknown): AppError {
  const cause = (error as Error).cause as (Error & { code?: string }) | undefined;
  const reason = cause?.code || cause?.message || (error as Error).message;
  return failure(
    access,
    hasBegun
      ? `broke off its answer (${reason}). Try again.`
      : `cannot be reached (${reason}). Check that this service runs, and that the URL is right.`,
    error,
  );
}
