import { HubApiError } from '@huggingface/hub';
import { AppError } from '../errors.ts';
import { type HubAccess, redact } from './access.ts';

/** The status of an answer of the hub itself that the library has made an error of, or `null`. */
export function statusOfHub(access: HubAccess, error: unknown): number | null {
  if (!(error instanceof HubApiError)) return null;
  return error.url === '' || new URL(error.url).origin === new URL(access.endpoint).origin
    ? error.statusCode
    : null;
}

/**
 * Puts a failed push into words.
 * @param doing what was tried, as "upload to owner/name".
 */
export function toPushFailure(access: HubAccess, doing: string, error: unknown): AppError {
  if (error instanceof AppError) return error;
  const status = statusOfHub(access, error);
  const said = status === null ? '' : wordsOf(access, error as HubApiError);
  switch (status) {
    case 401:
      return new AppError(
        'forbidden',
        `The hub does not accept the token in HUB_TOKEN, so Hone could not ${doing}. It may have expired: make a new one at ${access.endpoint}/settings/tokens, set HUB_TOKEN to it and start Hone again.`,
        { cause: error },
      );
    case 403:
    case 404:
      return new AppError(
        'forbidden',
        `The hub does not let the token in HUB_TOKEN ${doing}${said}. Give it write access to that account or repository at ${access.endpoint}/settings/tokens.`,
        { cause: error },
      );
    case 409:
    case 412:
      return new AppError(
        'conflict',
        `The repository changed while Hone tried to ${doing}${said}. Push again; what is there already is not uploaded again.`,
        { cause: error },
      );
    case 400:
    case 422:
      return new AppError(
        'invalid',
        `The hub refused to ${doing}${said}. Choose another repo_name, or see what it says.`,
        {
          cause: error,
        },
      );
    default:
      return new AppError(
        'upstream',
        `The hub could not ${doing}: ${describe(access, error, status)}. Push again; what is there already is not uploaded again.`,
        { cause: error },
      );
  }
}

function describe(access: HubAccess, error: unknown, status: number | null): string {
  if (status !== null) return `it answered ${status}${wordsOf(access, error as HubApiError)}`;
  // An address at the storage is signed: neither it nor what the storage says of it is shown.
  if (error instanceof HubApiError) return `its storage answered ${error.statusCode}`;
  return redact(access, (error as Error).message).slice(0, 300);
}

/** What the hub says in its answer, in quotes and without the token, or nothing. */
function wordsOf(access: HubAccess, error: HubApiError): string {
  const words = error.data?.error ?? error.data?.message;
  if (typeof words !== 'string' || words.trim() === '' || words.includes('<')) return '';
  return ` ("${redact(access, words).replace(/\s+/g, ' ').slice(0, 300)}")`;
}
