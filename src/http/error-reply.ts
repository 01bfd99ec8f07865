import type { AppError, ErrorKind } from '../errors.ts';
import { Reply } from './reply.ts';

/** The short name and the status of each kind of error. */
const kinds: Readonly<Record<ErrorKind, readonly [string, number]>> = {
  invalid: ['Invalid parameters', 400],
  unauthorized: ['Unauthorized', 401],
  forbidden: ['Forbidden', 403],
  not_found: ['Not found', 404],
  conflict: ['Conflict', 409],
  too_large: ['Too large', 413],
  too_many: ['Too many requests', 429],
  unavailable: ['Unavailable', 503],
  upstream: ['Model hub not reachable', 502],
  disk_full: ['Disk full', 507],
  internal: ['Internal error', 500],
};

/** The status code of an error; a 405 is an `invalid` error with that status in its details. */
export const statusOf = (error: AppError): number => Number(error.details.status ?? kinds[error.kind][1]);

/** `{error, detail, status_code}`: the format of the flat set, Hone's own routes and unknown paths. */
export function errorReply(error: AppError): Reply {
  const status = statusOf(error);
  const { retryAfterSeconds } = error.details;
  return Reply.json(
    status,
    {
      error: status === 405 ? 'Method not allowed' : kinds[error.kind][0],
      detail: error.message,
      status_code: status,
    },
    retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) },
  );
}

/** A reply with the headers that its error needs in every format (RFC 6750, section 3; RFC 9110, section 10.2.3). */
export function withErrorHeaders(reply: Reply, { kind, details }: AppError): Reply {
  const withHeader = (name: string, value: string) =>
    new Reply(reply.status, reply.body, { ...reply.headers, [name]: value });
  if (kind === 'unauthorized') return withHeader('www-authenticate', 'Bearer');
  const { retryAfterSeconds } = details;
  return kind === 'too_many' && retryAfterSeconds !== undefined
    ? withHeader('retry-after', String(retryAfterSeconds))
    : reply;
}

/** The kind of error for a status code, or `null`. */
export const kindOf = (status: number): ErrorKind | null =>
  (Object.keys(kinds) as ErrorKind[]).find((kind) => kinds[kind][1] === status) ?? null;
