import type { HubApiError } from '@huggingface/hub';
import { AppError } from '../errors.ts';
import { type HubAccess, redact, waysToSet } from './access.ts';
import { isHubApiError } from './library.ts';

/** The status code of the hub's response in a library error, or `null`. */
export function statusOfHub(access: HubAccess, error: unknown): number | null {
  if (!isHubApiError(error)) return null;
  return error.url === '' || new URL(error.url).origin === new URL(access.endpoint).origin
    ? error.statusCode
    : null;
}

/**
 * Describes a failed push.
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
        `The hub does not accept the hub token, so Hone could not ${doing}. It may have expired. Create a new one at ${access.endpoint}/settings/tokens, and ${waysToSet}.`,
        { cause: error },
      );
    case 403:
    case 404:
      return new AppError(
        'forbidden',
        `The hub does not allow the hub token to ${doing}${said}. Give it write access to that account or repository at ${access.endpoint}/settings/tokens.`,
        { cause: error },
      );
    case 409:
    case 412:
      return new AppError(
        'conflict',
        `The repository changed while Hone tried to ${doing}${said}. Push again; files that are already there are skipped.`,
        { cause: error },
      );
    case 400:
    case 422:
      return new AppError(
        'invalid',
        `The hub refused to ${doing}${said}. Choose another repo_name, or follow its message.`,
        {
          cause: error,
        },
      );
    default:
      return new AppError(
        'upstream',
        `The hub could not ${doing}: ${describe(access, error, status)}. Push again; files that are already there are skipped.`,
        { cause: error },
      );
  }
}

function describe(access: HubAccess, error: unknown, status: number | null): string {
  if (status !== null) return `it answered ${status}${wordsOf(access, error as HubApiError)}`;
  // Storage URLs are signed, so neither they nor the storage's messages are shown.
  if (isHubApiError(error)) return `its storage answered ${error.statusCode}`;
  return redact(access, (error as Error).message).slice(0, 300);
}

/** The hub's own message in quotes, without the token, or nothing. */
function wordsOf(access: HubAccess, error: HubApiError): string {
  const words = error.data?.error ?? error.data?.message;
  if (typeof words !== 'string' || words.trim() === '' || words.includes('<')) return '';
  return ` ("${redact(access, words).replace(/\s+/g, ' ').slice(0, 300)}")`;
}
