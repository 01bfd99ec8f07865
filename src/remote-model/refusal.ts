import { AppError } from '../errors.ts';
import { failure, type RemoteAccess } from './access.ts';

/** How many characters of a refusal are repeated. */
const quotedCharacters = 2000;

/** An error as services say it: OpenAI's object, or a text under one of several names. */
interface Said {
  readonly message: string;
  readonly code: string | null;
  readonly param: string | null;
}

const textOrNull = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value : null;

/** What the body of an error says; the key, if it is repeated there, is left out. */
function saidIn({ key }: RemoteAccess, text: string): Said | null {
  let body: Record<string, unknown>;
  try {
    body = Object(JSON.parse(text));
  } catch {
    return null;
  }
  const { error } = body;
  const inner = Object(error) as Record<string, unknown>;
  const message = [inner.message, error, body.message, body.detail]
    .map(textOrNull)
    .find((one) => one !== null);
  if (message == null) return null;
  const shown = (one: string) => (key === null ? one : one.replaceAll(key, '<API key>'));
  const short = (value: unknown) => {
    const one = textOrNull(value);
    return one === null ? null : shown(one).slice(0, 200);
  };
  return {
    message: shown(message).slice(0, quotedCharacters),
    code: short(inner.code),
    param: short(inner.param),
  };
}

/** `Retry-After` in whole seconds (RFC 9110, 10.2.3: seconds or a date), or `undefined`. */
function retryAfterSeconds(headers: Headers): number | undefined {
  const text = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,9}(\.\d+)?$/.test(text)) return Math.ceil(Number(text));
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}

/** The error of an event in a stream. */
export function streamedFailure(access: RemoteAccess, event: string): AppError {
  const said = saidIn(access, event);
  return failure(access, `broke off its answer${said === null ? '.' : `. It says: ${said.message}`}`);
}

/**
 * The error for an answer without success. What the client can mend has the other service's status and words; what only
 * the owner of the key or of that service can is `upstream`.
 */
export function refusal(
  access: RemoteAccess,
  { status, headers }: Pick<Response, 'status' | 'headers'>,
  text: string,
): AppError {
  const { name, key } = access;
  if (status === 401)
    // Its own words may repeat parts of the key.
    return failure(
      access,
      key === null
        ? `asks for a key (401). Remove ${name} and add it again with one.`
        : `refused the stored key (401). Remove ${name} and add it again with a valid one.`,
    );
  if (status < 400)
    return failure(access, `redirects elsewhere (${status}), which Hone does not follow. Correct its URL.`);
  const said = saidIn(access, text);
  if (status >= 500)
    return failure(
      access,
      `answered ${status}.${said === null ? '' : ` It says: ${said.message}`} Try again later.`,
    );
  const message = said?.message ?? `${name} at ${access.url} answered ${status}.`;
  const code = said?.code ?? null;
  if (status === 429)
    return new AppError('too_many', message, {
      details: {
        retryAfterSeconds: retryAfterSeconds(headers),
        code: code ?? 'rate_limit_exceeded',
      },
    });
  const param = said?.param ?? null;
  return new AppError('invalid', message, {
    details: { status, code },
    issues: param === null ? [] : [{ loc: ['body', param], msg: message, type: 'remote' }],
  });
}
