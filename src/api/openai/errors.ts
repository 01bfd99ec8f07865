import type { AppError, ErrorKind } from '../../errors.ts';
import { statusOf } from '../../http/error-reply.ts';
import { Reply } from '../../http/reply.ts';

const codes: Partial<Record<ErrorKind, string>> = {
  not_found: 'model_not_found',
  unauthorized: 'invalid_api_key',
  too_many: 'rate_limit_exceeded',
};

/** OpenAI's libraries repeat a request that gets 409; here that would meet the same conflict. */
const openAiStatus = (error: AppError): number => (error.kind === 'conflict' ? 400 : statusOf(error));

/**
 * The error object of OpenAI's API reference: `{error: {message, type, param, code}}`. An error's `details` may name
 * the code.
 */
export function errorBody(error: AppError) {
  const status = openAiStatus(error);
  return {
    error: {
      message: error.message,
      type: status >= 500 ? 'server_error' : status === 429 ? 'requests' : 'invalid_request_error',
      param: error.issues[0]?.loc.slice(1).join('.') ?? null,
      code: 'code' in error.details ? (error.details.code as string | null) : (codes[error.kind] ?? null),
    },
  };
}

export const presentError = (error: AppError): Reply => Reply.json(openAiStatus(error), errorBody(error));
