/** One refused field of a request. */
export interface FieldFault {
  readonly field: string;
  readonly message: string;
}

/** An answer that is no success, in words; `status` 0 means that there was no answer. */
export class ServiceError extends Error {
  readonly status: number;
  readonly faults: readonly FieldFault[];
  /** What a user can copy into a report: the request and the whole answer. */
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
  readonly signal?: AbortSignal;
}

/** Sends a request; resolves with the response of a success, whose body is still unread. */
export async function send(
  path: string,
  { method = 'GET', body, signal }: RequestOptions = {},
): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw noAnswer(`${method} ${path}`, error);
  }
  if (response.ok) return response;
  throw toServiceError(`${method} ${path}`, response.status, await response.text().catch(() => ''));
}

/** The error for a request that got no answer at all. */
export function noAnswer(what: string, cause: unknown): ServiceError {
  return new ServiceError(
    0,
    'The service does not answer. It may have been stopped; training goes on without it.',
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
    // Not ours: a proxy's page, say.
  }
  if (typeof parsed === 'string' && parsed !== '') return new ServiceError(status, parsed, detail);
  if (Array.isArray(parsed)) {
    const faults = parsed.map((issue: { loc?: string[]; msg?: string }) => ({
      field: issue.loc?.slice(1).join('.') ?? '',
      message: issue.msg ?? 'is not valid',
    }));
    return new ServiceError(status, faults.map(({ message }) => message).join('; '), detail, faults);
  }
  return new ServiceError(status, `The service answered with status ${status}.`, detail);
}
