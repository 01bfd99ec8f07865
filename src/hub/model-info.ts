import { AppError } from '../errors.ts';
import { type HubAccess, redact, waysToSet } from './access.ts';
import { findCached } from './cached-model.ts';
import { statusOfHub } from './hub-failure.ts';
import { createHubFetch } from './hub-fetch.ts';
import { hubLibrary } from './library.ts';

/** The hub's information on a repository; `null` values if only the local cache is available. */
export interface HubModel {
  readonly id: string;
  readonly author: string;
  readonly downloads: number | null;
  readonly likes: number | null;
  readonly gated: boolean;
  /** Parameters of the safetensors weights; `null` if unknown. */
  readonly parameters: number | null;
  readonly isPrivate: boolean;
  /** The license identifier in the model card. */
  readonly license: string | null;
  /** The names of its files. */
  readonly files: readonly string[] | null;
}

/**
 * Reads a repository's information and checks that the token may read its files. If the hub is unreachable, looks in the
 * shared cache.
 * @throws AppError `forbidden` when it is missing, private or gated for this token; `upstream` when the hub
 *   cannot be reached or fails, and the cache has nothing.
 */
export async function readModelInfo(access: HubAccess, repository: string): Promise<HubModel> {
  try {
    return await askHub(access, repository);
  } catch (error) {
    const failure = toAppError(access, repository, error);
    if (failure.kind !== 'upstream' || (await findCached(repository)) === null) throw failure;
    return {
      id: repository,
      author: repository.split('/')[0] as string,
      downloads: null,
      likes: null,
      gated: false,
      isPrivate: false,
      license: null,
      files: null,
      parameters: null,
    };
  }
}

/** Like `readModelInfo`, from the hub only; `null` if the repository is not visible. */
export async function askForRepository(access: HubAccess, repository: string): Promise<HubModel | null> {
  try {
    return await readRepository(access, repository, createHubFetch(access, `asked for "${repository}"`));
  } catch (error) {
    const status = statusOfHub(access, error);
    if (status === 404 || status === 401) return null;
    throw toAppError(access, repository, error);
  }
}

async function askHub(access: HubAccess, repository: string): Promise<HubModel> {
  const hubFetch = createHubFetch(access, `asked for "${repository}"`);
  const model = await readRepository(access, repository, hubFetch);
  if (model.gated) {
    // A gated repository's information is public, but its files are not.
    const answer = await hubFetch(`${access.endpoint}/api/models/${repository}/auth-check`);
    if (answer.status === 401 || answer.status === 403) {
      throw new AppError(
        'forbidden',
        `The model "${repository}" is not accessible: it is gated. Accept its license at ${access.endpoint}/${repository}, and use a token of that account: ${waysToSet}.`,
      );
    }
  }
  return model;
}

/** A field of the hub's API that the library's types lack: the names of a repository's files. */
const fileNames = 'siblings' as 'safetensors';

async function readRepository(
  access: HubAccess,
  repository: string,
  hubFetch: typeof fetch,
): Promise<HubModel> {
  const { modelInfo } = await hubLibrary();
  const info = await modelInfo({
    name: repository,
    hubUrl: access.endpoint,
    additionalFields: ['author', 'cardData', 'safetensors', fileNames],
    fetch: hubFetch,
  });
  const license = (info.cardData as { license?: unknown } | undefined)?.license;
  return {
    id: info.name ?? repository,
    author: info.author ?? (repository.split('/')[0] as string),
    downloads: info.downloads ?? null,
    likes: info.likes ?? null,
    gated: Boolean(info.gated),
    isPrivate: info.private === true,
    license: typeof license === 'string' ? license : null,
    files: filesOf(info as { siblings?: unknown }),
    parameters: info.safetensors?.total ?? null,
  };
}

function filesOf({ siblings }: { siblings?: unknown }): string[] | null {
  if (!Array.isArray(siblings)) return null;
  const names = siblings.map((entry: { rfilename?: unknown } | null) => entry?.rfilename);
  return names.filter((name) => typeof name === 'string');
}

function toAppError(access: HubAccess, repository: string, error: unknown): AppError {
  if (error instanceof AppError) return error;
  const status = statusOfHub(access, error);
  if (status !== null && status >= 400 && status < 500) {
    const advice =
      access.token === null
        ? `If it is private or gated, use a token with access to it: ${waysToSet}.`
        : 'Check the name, and that the hub token has access to it (for a gated model, accept its license on the hub).';
    return new AppError(
      'forbidden',
      `The model "${repository}" is not accessible: it does not exist or permission is denied. ${advice}`,
      { cause: error },
    );
  }
  return new AppError(
    'upstream',
    `The model hub ${access.endpoint} could not be asked for "${repository}": ${redact(access, (error as Error).message).slice(0, 300)}. Try again later, or use the path of a local folder.`,
    { cause: error },
  );
}
