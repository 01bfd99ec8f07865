import type { AppError, ErrorKind } from '../../errors.ts';
import { Reply } from '../../http/reply.ts';

const statuses: Readonly<Record<ErrorKind, number>> = {
  invalid: 400,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  too_large: 413,
  unavailable: 503,
  upstream: 502,
  disk_full: 507,
  internal: 500,
};

/** Specification, "Errors": `{detail}`, a list of issues where fields were refused and a text elsewhere. */
export function presentError(error: AppError): Reply {
  const status = Number(error.details.status ?? statuses[error.kind]);
  const detail =
    error.kind === 'internal'
      ? `Internal error: ${error.message}`
      : error.kind === 'invalid' && error.issues.length > 0
        ? error.issues
        : error.message;
  return Reply.json(status, { detail });
}
