import { AppError, type ErrorKind } from '../../errors.ts';
import { statusOf } from '../../http/error-reply.ts';
import { Reply } from '../../http/reply.ts';

const codes: Partial<Record<ErrorKind, string>> = {
  not_found: 'model_not_found',
  unauthorized: 'invalid_api_key',
  too_many: 'rate_limit_exceeded',
};

/** OpenAI's codes of what is wrong with a field, by the type of the issue. */
const fieldCodes: Readonly<Record<string, string>> = {
  extra_forbidden: 'unknown_parameter',
  null_type: 'unsupported_parameter',
  empty: 'unsupported_parameter',
  literal_type: 'unsupported_value',
};

const ofParameters = /^tools\.\d+\.(?:function\.)?parameters\b/;

/** OpenAI's libraries repeat a request that gets 409; here that would meet the same conflict. */
const openAiStatus = (error: AppError): number => (error.kind === 'conflict' ? 400 : statusOf(error));

/**
 * The error object of OpenAI's API reference: `{error: {message, type, param, code}}`. An error's `details` may name
 * the code, and that of a field is the code of its issue.
 */
export function errorBody(error: AppError) {
  const status = openAiStatus(error);
  const [issue] = error.issues;
  const param = issue?.loc.slice(1).join('.') ?? null;
  const code =
    fieldCodes[issue?.type ?? ''] ??
    (ofParameters.test(param ?? '') ? 'invalid_function_parameters' : codes[error.kind]);
  return {
    error: {
      message: error.message,
      type: status >= 500 ? 'server_error' : status === 429 ? 'requests' : 'invalid_request_error',
      param,
      code: 'code' in error.details ? (error.details.code as string | null) : (code ?? null),
    },
  };
}

/**
 * An error about what a model was given, as one of the field of the request.
 * @param isList whether the field is a list of inputs, so that the index of the faulty one is told.
 */
export function namingInput(thrown: unknown, field: string, isList = false): unknown {
  if (!(thrown instanceof AppError) || thrown.kind !== 'invalid') return thrown;
  const { kind, details } = thrown;
  const { index, promptTokens, contextTokens, field: named } = details;
  if (typeof named === 'string')
    return new AppError(kind, thrown.message, {
      cause: thrown,
      issues: [{ loc: ['body', named], msg: thrown.message, type: 'model_input' }],
    });
  if (index === undefined && contextTokens === undefined) return thrown;
  // OpenAI's words: clients such as LangChain find out by them that a conversation is too long.
  const message =
    promptTokens === undefined
      ? thrown.message
      : `This model's maximum context length is ${contextTokens} tokens. However, your ${field} resulted in ${promptTokens} tokens. Please reduce the length of the ${field}.`;
  return new AppError(kind, message, {
    cause: thrown,
    issues: [{ loc: ['body', field, ...(isList ? [String(index)] : [])], msg: message, type: 'model_input' }],
    details: contextTokens === undefined ? details : { ...details, code: 'context_length_exceeded' },
  });
}

export const presentError = (error: AppError): Reply => Reply.json(openAiStatus(error), errorBody(error));
