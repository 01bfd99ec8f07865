import { sendSignedIn } from './sign-in.ts';

/** An invalid field of a request. */
export interface FieldFault {
  readonly field: string;
  readonly message: string;
}

/** An error response; `status` 0 means that there was no response. */
export class ServiceError extends Error {
  readonly status: number;
  readonly faults: readonly FieldFault[];
  /** The request and the complete response, to copy into a report. */
  readonly detail: string;

  constructor(status: number, message: string, detail: string, faults: readonly FieldFault[] = []) {
    super(message);
    this.name = 'ServiceError';
    this.status = status;
    this.detail = detail;
    this.faults = faults;
  }
}

interface RequestOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Whether it is sent to the end if the page is left, unless it is long: browsers limit that. */
  readonly keepalive?: boolean;
}

/** The most characters of such a request: 64 KiB in UTF-8. */
const mostKeptAlive = 20_000;

/** The route that a sign-in uses itself: its 401 is the answer. */
const sessionPath = '/api/session';

/**
 * Sends a request; resolves with a successful response, whose body is unread. Where the service wants a key, it waits
 * for the user to sign in.
 */
export async function send(
  path: string,
  { method = 'GET', body, signal, keepalive = false }: RequestOptions = {},
): Promise<Response> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const request = () =>
    fetch(path, {
      method,
      body: text ?? null,
      headers: text === undefined ? {} : { 'content-type': 'application/json' },
      keepalive: keepalive && (text?.length ?? 0) < mostKeptAlive,
      signal: signal ?? null,
    });
  let response: Response;
  try {
    response = await sendSignedIn(request, ({ status }) => status === 401 && path !== sessionPath);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw noAnswer(`${method} ${path}`, error);
  }
  if (response.ok) return response;
  throw toServiceError(`${method} ${path}`, response.status, await response.text().catch(() => ''));
}

/** The error for a request without a response. */
export function noAnswer(what: string, cause: unknown): ServiceError {
  return new ServiceError(
    0,
    'The service does not answer. It may have been stopped; running trainings continue.',
    `${what}\n${cause instanceof Error ? cause.message : String(cause)}`,
  );
}

/** Reads the service's error formats: `{detail}`, `{error, detail, status_code}` and `{error: {message}}`. */
export function toServiceError(what: string, status: number, text: string): ServiceError {
  const detail = `${what}\n${status}\n${text}`;
  let parsed: unknown = null;
  try {
    const body = JSON.parse(text) as { detail?: unknown; error?: { message?: unknown } } | null;
    parsed = body?.detail ?? body?.error?.message;
  } catch {
    // Not from the service, for example a proxy's page.
  }
  if (typeof parsed === 'string' && parsed !== '') return new ServiceError(status, parsed, detail);
  if (Array.isArray(parsed)) {
    const faults = parsed.map((issue: { loc?: string[]; msg?: string }) => ({
      field: issue.loc?.slice(1).join('.') ?? '',
      message: issue.msg ?? 'is not valid',
    }));
    return new ServiceError(status, inSentences(faults.map(({ message }) => message)), detail, faults);
  }
  return new ServiceError(status, `The service answered with status ${status}.`, detail);
}

/** Several messages as one text of sentences; a single one as it is. */
const inSentences = (messages: readonly string[]): string =>
  messages.length === 1
    ? (messages[0] as string)
    : messages.map((message) => (/[.!?]$/.test(message) ? message : `${message}.`)).join(' ');
