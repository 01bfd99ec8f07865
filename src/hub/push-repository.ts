import { AppError } from '../errors.ts';
import type { HubAccess } from './access.ts';
import { statusOfHub, toPushFailure } from './hub-failure.ts';
import { createHubFetch } from './hub-fetch.ts';
import { hubLibrary, isHubApiError } from './library.ts';
import { askForRepository } from './model-info.ts';

/** A file on the hub, identified by its sha256 in large-file storage, otherwise by git's blob ID. */
export interface RemoteFile {
  readonly sizeBytes: number;
  readonly sha256: string | null;
  readonly blobId: string | null;
}

/**
 * Creates a model repository if it doesn't exist.
 * @returns whether it existed.
 * @throws AppError `conflict` if it is public but a private one was requested; `forbidden` and `upstream` from the hub.
 */
export async function openRepository(
  access: HubAccess,
  repository: string,
  isPrivate: boolean,
): Promise<{ existed: boolean; isPrivate: boolean }> {
  const existing = await askForRepository(access, repository);
  if (existing !== null) return accept(repository, existing.isPrivate, isPrivate);
  try {
    const { createRepo } = await hubLibrary();
    await createRepo({
      repo: { type: 'model', name: repository },
      accessToken: '',
      hubUrl: access.endpoint,
      visibility: isPrivate ? 'private' : 'public',
      fetch: createHubFetch(access, `asked to create ${repository}`),
    });
    return { existed: false, isPrivate };
  } catch (error) {
    // Created in the meantime, or by an earlier attempt whose response was lost.
    if (isHubApiError(error) && error.statusCode === 409) {
      const made = await askForRepository(access, repository);
      if (made !== null) return accept(repository, made.isPrivate, isPrivate);
    }
    throw toPushFailure(access, `create the repository ${repository}`, error);
  }
}

function accept(repository: string, found: boolean, asked: boolean): { existed: true; isPrivate: boolean } {
  if (asked && !found) {
    throw new AppError(
      'conflict',
      `The repository ${repository} exists and is public, but a private one was requested. Make it private on the hub, choose another repo_name, or send "private": false.`,
    );
  }
  return { existed: true, isPrivate: found };
}

/** The files of a repository by path. */
export async function readRemoteFiles(
  access: HubAccess,
  repository: string,
): Promise<ReadonlyMap<string, RemoteFile>> {
  const found = new Map<string, RemoteFile>();
  try {
    const { listFiles } = await hubLibrary();
    const entries = listFiles({
      repo: { type: 'model', name: repository },
      recursive: true,
      hubUrl: access.endpoint,
      fetch: createHubFetch(access, `asked for the files of ${repository}`),
    });
    for await (const { type, path, size, oid, lfs } of entries) {
      if (type !== 'file') continue;
      found.set(path, { sizeBytes: size, sha256: lfs?.oid ?? null, blobId: oid ?? null });
    }
  } catch (error) {
    if (statusOfHub(access, error) === 404) return new Map();
    throw toPushFailure(access, `list the files of ${repository}`, error);
  }
  return found;
}
