import type { AppError } from '../../errors.ts';
import { statusOf } from '../../http/error-reply.ts';
import { Reply } from '../../http/reply.ts';

/** Specification, "Errors": `{detail}`, a list of issues where fields were refused and a text elsewhere. */
export function presentError(error: AppError): Reply {
  const detail =
    error.kind === 'internal'
      ? `Internal error: ${error.message}`
      : error.kind === 'invalid' && error.issues.length > 0
        ? error.issues
        : error.message;
  return Reply.json(statusOf(error), { detail });
}
