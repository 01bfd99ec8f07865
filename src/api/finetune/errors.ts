import type { AppError } from '../../errors.ts';
import { statusOf } from '../../http/error-reply.ts';
import { Reply } from '../../http/reply.ts';

/** `{detail}`: a list of issues for invalid fields, otherwise a text (docs/api.md, Errors). */
export function presentError(error: AppError): Reply {
  const detail =
    error.kind === 'internal'
      ? `Internal error: ${error.message}`
      : error.kind === 'invalid' && error.issues.length > 0
        ? error.issues
        : error.message;
  return Reply.json(statusOf(error), { detail });
}
