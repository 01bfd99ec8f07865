import type { AppError, ErrorKind } from '../../errors.ts';
import { Reply } from '../../http/reply.ts';

/** The short name and the status of each kind of error in this set. */
const kinds: Readonly<Record<ErrorKind, readonly [string, number]>> = {
  invalid: ['Invalid parameters', 400],
  forbidden: ['Forbidden', 403],
  not_found: ['Not found', 404],
  conflict: ['Conflict', 409],
  too_large: ['Too large', 413],
  unavailable: ['Unavailable', 503],
  upstream: ['Model hub not reachable', 502],
  disk_full: ['Disk full', 507],
  internal: ['Internal error', 500],
};

/** Specification, "Errors", flat set: `{error, detail, status_code}`. */
export function presentError(error: AppError): Reply {
  const [name, usual] = kinds[error.kind];
  const status = Number(error.details.status ?? usual);
  return Reply.json(status, {
    error: status === 405 ? 'Method not allowed' : name,
    detail: error.message,
    status_code: status,
  });
}
