import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../errors.ts';
import { type OpenAiAccess, type OpenAiFailure, redact } from './access.ts';

/** Attempts of one request, the first included. */
const attempts = 4;
/** Answers other than files are small. */
const answerLimitBytes = 64 * 2 ** 20;
/** How many characters of a refusal are repeated. */
const quotedCharacters = 300;

/** Status codes of a busy or restarting service. */
const passing: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

export const failure = (code: OpenAiFailure, message: string, cause?: unknown): AppError =>
  new AppError('upstream', message, { details: { code }, cause });

/**
 * Requests a path with GET; nothing else is ever sent. Connection errors, timeouts, 429 (after `Retry-After`) and 5xx are
 * retried within limits. No redirect is followed, because the key would go along.
 *
 * @param read reads the body; `heard` must be called for each piece. It is called again after an interruption.
 * @throws AppError `upstream` with an `OpenAiFailure` in `details.code`.
 */
export async function get<T>(
  access: OpenAiAccess,
  path: string,
  read: (response: Response, heard: () => void) => Promise<T>,
): Promise<T> {
  if (!URL.canParse(access.baseUrl)) {
    throw failure('upstream', `OPENAI_BASE_URL is no address: "${redact(access, access.baseUrl)}".`);
  }
  const url = new URL(`${access.baseUrl}${path}`);
  if (url.protocol !== 'https:' && !isOnThisMachine(url)) {
    throw failure(
      'upstream',
      `OPENAI_BASE_URL is not an https:// address, so the API key is not sent to ${url.host}.`,
    );
  }
  let waitedMs = 0;
  for (let attempt = 1; ; attempt += 1) {
    const trouble = await once(access, url, read);
    if ('value' in trouble) return trouble.value;
    const { said, code } = trouble;
    const waitMs = trouble.waitMs ?? access.patience.backoffMs * 2 ** (attempt - 1);
    if (attempt === attempts || waitedMs + waitMs > access.patience.waitMs) {
      const wait = trouble.waitMs === null ? '' : ` and asks to wait ${Math.ceil(trouble.waitMs / 1000)} s`;
      throw failure(code, `${url.host} ${said}${wait}. Try again later; what is stored is kept.`);
    }
    waitedMs += waitMs;
    await sleep(waitMs, undefined, { signal: access.signal });
  }
}

const isOnThisMachine = ({ protocol, hostname }: URL) =>
  protocol === 'http:' && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);

type Outcome<T> =
  | { readonly value: T }
  | { readonly said: string; readonly code: OpenAiFailure; readonly waitMs: number | null };

async function once<T>(
  access: OpenAiAccess,
  url: URL,
  read: (response: Response, heard: () => void) => Promise<T>,
): Promise<Outcome<T>> {
  const silence = new AbortController();
  const { timeoutMs } = access.patience;
  const timer = setTimeout(() => silence.abort(), timeoutMs);
  // Instead of AbortSignal.any, which Node 20 collects while a fetch still waits on it.
  const abort = () => silence.abort();
  access.signal.addEventListener('abort', abort);
  if (access.signal.aborted) abort();
  let answered = false;
  try {
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${access.key}` },
      redirect: 'manual',
      signal: silence.signal,
    });
    timer.refresh();
    answered = true;
    const { status } = response;
    if (passing.has(status)) {
      await response.body?.cancel();
      const said = status === 429 ? 'limits the rate of requests (429)' : `answered ${status}`;
      const code = status === 429 ? 'rate_limited' : 'upstream';
      return { said, code, waitMs: retryAfterMs(response.headers) };
    }
    if (!response.ok) throw await refusal(access, url, response);
    return { value: await read(response, () => timer.refresh()) };
  } catch (error) {
    access.signal.throwIfAborted();
    if (silence.signal.aborted) {
      return { said: `did not respond for ${timeoutMs / 1000} s`, code: 'unreachable', waitMs: null };
    }
    // That is what fetch throws; anything else comes from what was done with the answer.
    if (!(error instanceof TypeError)) throw error;
    const cause = error.cause as (Error & { code?: string }) | undefined;
    const reason = redact(access, cause?.message || cause?.code || error.message);
    const said = answered ? `interrupted its answer (${reason})` : `cannot be reached (${reason})`;
    return { said, code: 'unreachable', waitMs: null };
  } finally {
    clearTimeout(timer);
    access.signal.removeEventListener('abort', abort);
  }
}

/** The error for a status that no further attempt changes. */
async function refusal(access: OpenAiAccess, url: URL, response: Response): Promise<AppError> {
  const { status } = response;
  const text = await readText(response, () => undefined).catch(() => '');
  // Its own words on a wrong key repeat parts of the key.
  if (status === 401) {
    return failure(
      'unauthorized',
      `${url.host} does not accept the API key (401). Check it, and that it belongs to the right project.`,
    );
  }
  if (status >= 300 && status < 400) {
    return failure('upstream', `${url.host} redirects elsewhere (${status}), which Hone does not follow.`);
  }
  const words = quoted(access, text);
  if (status === 403) {
    return failure(
      'forbidden',
      `${url.host} does not let this API key read ${url.pathname} (403).${words} Give it permission to read files, fine-tuning and evals.`,
    );
  }
  const code = status === 404 || status === 410 ? 'missing' : status < 500 ? 'refused' : 'upstream';
  return failure(code, `${url.host} answered ${status}.${words}`);
}

/** The message of an error body, as a sentence. */
function quoted(access: OpenAiAccess, text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown } };
    if (typeof error?.message !== 'string' || error.message === '') return '';
    return ` It says: ${redact(access, error.message).slice(0, quotedCharacters)}`;
  } catch {
    return '';
  }
}

/** `Retry-After` in milliseconds (RFC 9110, 10.2.3: seconds or a date), or `null`. */
function retryAfterMs(headers: Headers): number | null {
  const text = headers.get('retry-after')?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now());
}

/** A body as text. */
export async function readText(response: Response, heard: () => void): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    heard();
    bytes += piece.byteLength;
    if (bytes > answerLimitBytes) throw failure('upstream', 'The answer is too long.');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}
