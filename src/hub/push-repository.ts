import { createRepo, HubApiError, listFiles } from '@huggingface/hub';
import { AppError } from '../errors.ts';
import type { HubAccess } from './access.ts';
import { statusOfHub, toPushFailure } from './hub-failure.ts';
import { createHubFetch } from './hub-fetch.ts';
import { askForRepository } from './model-info.ts';

/** A file as the hub has it: by the sha256 of its bytes in large-file storage, by git's blob id otherwise. */
export interface RemoteFile {
  readonly sizeBytes: number;
  readonly sha256: string | null;
  readonly blobId: string | null;
}

/**
 * Makes a model repository, or accepts the one that is there.
 * @returns whether it was there already.
 * @throws AppError `conflict` when it is public and a private one was asked for, since what is pushed would
 *   be seen by everyone; `forbidden` and `upstream` as the hub answers.
 */
export async function openRepository(
  access: HubAccess,
  repository: string,
  isPrivate: boolean,
): Promise<{ existed: boolean; isPrivate: boolean }> {
  const existing = await askForRepository(access, repository);
  if (existing !== null) return accept(repository, existing.isPrivate, isPrivate);
  try {
    await createRepo({
      repo: { type: 'model', name: repository },
      accessToken: '',
      hubUrl: access.endpoint,
      visibility: isPrivate ? 'private' : 'public',
      fetch: createHubFetch(access, `asked to create ${repository}`),
    });
    return { existed: false, isPrivate };
  } catch (error) {
    // Made meanwhile, or by an earlier attempt whose answer was lost.
    if (error instanceof HubApiError && error.statusCode === 409) {
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
      `The repository ${repository} exists and is public, but a private one was asked for. Make it private on the hub, choose another repo_name, or send "private": false.`,
    );
  }
  return { existed: true, isPrivate: found };
}

/** The files that a repository has, by path; none when it is empty. */
export async function readRemoteFiles(
  access: HubAccess,
  repository: string,
): Promise<ReadonlyMap<string, RemoteFile>> {
  const found = new Map<string, RemoteFile>();
  try {
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
