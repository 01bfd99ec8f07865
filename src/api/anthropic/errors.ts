import type { AppError } from '../../errors.ts';
import { statusOf } from '../../http/error-reply.ts';
import { Reply } from '../../http/reply.ts';

const types: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
};

/** The error object of Anthropic's API reference: `{type: "error", error: {type, message}}`. */
export function errorBody(error: AppError) {
  const status = statusOf(error);
  const type = types[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
  const { promptTokens, contextTokens } = error.details;
  // Anthropic's words: clients find out by them that a conversation is too long.
  const message =
    promptTokens === undefined
      ? error.message
      : `prompt is too long: ${promptTokens} tokens > ${contextTokens} maximum`;
  return { type: 'error' as const, error: { type, message } };
}

/** Anthropic's libraries repeat a request that gets 409; here that would meet the same conflict. */
export const presentError = (error: AppError): Reply =>
  Reply.json(error.kind === 'conflict' ? 400 : statusOf(error), errorBody(error));
