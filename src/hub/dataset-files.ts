import type { ListFileEntry } from '@huggingface/hub';
import { AppError } from '../errors.ts';
import { type HubAccess, redact, waysToSet } from './access.ts';
import { statusOfHub } from './hub-failure.ts';
import { createHubFetch } from './hub-fetch.ts';
import { hubLibrary } from './library.ts';

/** A Parquet file of a dataset on the hub. */
export interface HubDatasetFile {
  readonly path: string;
  readonly revision: string;
  readonly sizeBytes: number;
  /** Of its content; `null` if the hub does not tell. */
  readonly sha256: string | null;
}

/** The Parquet files of a dataset on the hub, by configuration and split. */
export interface HubDataset {
  readonly repo: string;
  readonly gated: boolean;
  readonly configs: readonly {
    readonly name: string;
    readonly splits: readonly { readonly name: string; readonly files: readonly HubDatasetFile[] }[];
  }[];
}

/** The branch to which the hub converts datasets: `CONFIGURATION/SPLIT/0000.parquet`. */
const convertedBranch = 'refs/convert/parquet';

/**
 * Lists the Parquet files of a dataset repository: those that the hub has converted, else its own.
 * @param revision of the repository's own files; `null` for the newest, and those converted from it.
 * @throws AppError `forbidden` when it is missing, private or gated for this token; `not_found` when it has no Parquet
 *   files; `upstream` when the hub cannot be reached or fails.
 */
export async function readHubDataset(
  access: HubAccess,
  repo: string,
  revision: string | null,
): Promise<HubDataset> {
  const hubFetch = createHubFetch(access, `asked for the dataset "${repo}"`);
  const ask = (path: string) => hubFetch(`${access.endpoint}/api/datasets/${repo}${path}`);
  const answer = await ask('');
  if (!answer.ok) throw refused(access, repo, answer.status);
  const info = (await answer.json().catch(() => null)) as { gated?: unknown } | null;
  const gated = Boolean(info?.gated);
  // A gated repository's information is public, but its files are not.
  if (gated && !(await ask('/auth-check')).ok) {
    throw new AppError(
      'forbidden',
      `The dataset "${repo}" is gated. Accept its license at ${access.endpoint}/datasets/${repo}, and use a token of that account: ${waysToSet}.`,
    );
  }
  const converted = revision === null ? await parquetFiles(access, repo, convertedBranch, hubFetch) : null;
  if (converted?.length) return { repo, gated, configs: grouped(converted, placeOfConverted) };
  const own = await parquetFiles(access, repo, revision ?? 'main', hubFetch);
  if (own === null && revision !== null) {
    throw new AppError('not_found', `The dataset "${repo}" has no revision "${revision}". Check its name.`);
  }
  if (own?.length) return { repo, gated, configs: grouped(own, placeOfOwn) };
  throw new AppError(
    'not_found',
    `The dataset "${repo}" has no Parquet files${revision === null ? ', and the hub has not converted it' : ` at ${revision}`}. Download one of its files, and import that.`,
  );
}

function refused(access: HubAccess, repo: string, status: number): AppError {
  if (status !== 401 && status !== 403 && status !== 404) {
    return new AppError('upstream', `The hub answered ${status} for the dataset "${repo}". Try again later.`);
  }
  const advice =
    access.token === null
      ? `Check its name. If it is private, use a token with access to it: ${waysToSet}.`
      : 'Check its name, and that the hub token has access to it.';
  return new AppError(
    'forbidden',
    `The dataset "${repo}" does not exist, or permission is denied. ${advice}`,
  );
}

/** The Parquet files of a revision; `null` if there is no such revision. */
async function parquetFiles(
  access: HubAccess,
  repo: string,
  revision: string,
  hubFetch: typeof fetch,
): Promise<HubDatasetFile[] | null> {
  try {
    const { listFiles } = await hubLibrary();
    const entries: AsyncIterable<ListFileEntry> = listFiles({
      repo: { type: 'dataset', name: repo },
      recursive: true,
      // The library does not encode it.
      revision: encodeURIComponent(revision),
      hubUrl: access.endpoint,
      fetch: hubFetch,
    });
    const files: HubDatasetFile[] = [];
    for await (const { type, path, size, lfs } of entries) {
      if (type !== 'file' || !path.endsWith('.parquet')) continue;
      files.push({ path, revision, sizeBytes: size, sha256: lfs?.oid ?? null });
    }
    return files.sort((a, b) => (a.path < b.path ? -1 : 1));
  } catch (error) {
    if (error instanceof AppError) throw error;
    if (statusOfHub(access, error) === 404) return null;
    throw new AppError(
      'upstream',
      `The files of the dataset "${repo}" could not be listed: ${redact(access, (error as Error).message).slice(0, 300)}. Try again later.`,
      { cause: error },
    );
  }
}

type Place = readonly [config: string, split: string];

const placeOfConverted = (path: string): Place => {
  const [config = 'default', split = 'train'] = path.split('/');
  return [config, split];
};

/**
 * The configuration and split of a repository's own file, by the usual names: `data/train-00000-of-00002.parquet`, or
 * `CONFIGURATION/train-….parquet`, or `CONFIGURATION/train/0000.parquet`.
 */
function placeOfOwn(path: string): Place {
  const folders = path.split('/').slice(0, -1);
  const stem = (path.split('/').at(-1) ?? '').replace(/\.parquet$/, '');
  const known = /(?:^|[._-])(train|test|validation|valid|dev|eval)(?=$|[._-])/i;
  const inName = known.exec(stem)?.[1] ?? stem.replace(/[._-]?\d+(-of-\d+)?([._-].*)?$/, '');
  const last = folders.at(-1);
  const isSplit = inName === '' && last !== undefined;
  const config = (isSplit ? folders.slice(0, -1) : folders).filter((name) => name !== 'data').join('/');
  return [config || 'default', (isSplit ? last : inName) || 'train'];
}

function grouped(files: readonly HubDatasetFile[], placeOf: (path: string) => Place): HubDataset['configs'] {
  const configs = new Map<string, Map<string, HubDatasetFile[]>>();
  for (const file of files) {
    const [config, split] = placeOf(file.path);
    const splits = configs.get(config) ?? new Map<string, HubDatasetFile[]>();
    configs.set(config, splits.set(split, [...(splits.get(split) ?? []), file]));
  }
  return [...configs].map(([name, splits]) => ({
    name,
    splits: [...splits].map(([split, ofSplit]) => ({ name: split, files: ofSplit })),
  }));
}
