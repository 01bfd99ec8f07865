import { HubApiError, modelInfo } from '@huggingface/hub';
import { AppError } from '../errors.ts';

/** How the hub is reached. The token leaves this machine for `endpoint` alone. */
export interface HubAccess {
  readonly endpoint: string;
  readonly token: string | null;
  readonly offline: boolean;
}

/** What the hub says of a model repository. */
export interface HubModel {
  readonly id: string;
  readonly author: string;
  readonly downloads: number;
  readonly likes: number;
  readonly gated: boolean;
}

const timeoutMs = 20_000;

/**
 * Asks the hub for a repository.
 * @throws AppError `forbidden` when it is missing, private or gated for this token; `upstream` when the hub
 *   cannot be reached or fails.
 */
export async function readModelInfo(access: HubAccess, repository: string): Promise<HubModel> {
  if (access.offline) {
    throw new AppError(
      'upstream',
      `The model hub ${access.endpoint} is not asked for "${repository}", since HF_HUB_OFFLINE is set. Unset it, or use the path of a local folder.`,
    );
  }
  try {
    const info = await modelInfo({
      name: repository,
      hubUrl: access.endpoint,
      additionalFields: ['author'],
      ...(access.token === null ? {} : { accessToken: access.token }),
      fetch: (url, init) =>
        fetch(url, { ...init, signal: AbortSignal.timeout(timeoutMs), redirect: 'error' }),
    });
    return {
      id: info.name,
      author: info.author ?? repository.split('/')[0] ?? '',
      downloads: info.downloads,
      likes: info.likes,
      gated: info.gated !== false,
    };
  } catch (error) {
    throw toAppError(access, repository, error);
  }
}

function toAppError(access: HubAccess, repository: string, error: unknown): AppError {
  const status = error instanceof HubApiError ? error.statusCode : null;
  if (status === 401 || status === 403 || status === 404) {
    const advice =
      access.token === null
        ? 'If it is private or gated, set HUB_TOKEN to a token with access to it.'
        : 'Check the name, and that the token in HUB_TOKEN has access to it (gated models need their licence accepted on the hub).';
    return new AppError(
      'forbidden',
      `The model "${repository}" is not accessible: it is missing, or permission is lacking. ${advice}`,
      {
        cause: error,
      },
    );
  }
  const said =
    status === null
      ? (((error as Error).cause as Error | undefined)?.message ?? (error as Error).message)
      : `it answered ${status}`;
  return new AppError(
    'upstream',
    `The model hub ${access.endpoint} could not be asked for "${repository}": ${said}. Try again later, or use the path of a local folder.`,
    {
      cause: error,
    },
  );
}
