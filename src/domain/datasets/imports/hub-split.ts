import { refusalOf } from '../../../faults.ts';
import type { HubAccess } from '../../../hub/access.ts';
import { type HubDataset, type HubDatasetFile, readHubDataset } from '../../../hub/dataset-files.ts';
import { isHubId } from '../../base-models/base-model.ts';

/** A dataset of the hub; `null` for its only or usual configuration or split, and its newest revision. */
export interface HubWanted {
  readonly repo: string;
  readonly config: string | null;
  readonly split: string | null;
  readonly revision: string | null;
}

/** The files of a split. @throws AppError `invalid` with the names that there are, and as `readHubDataset`. */
export async function hubSplit(hub: HubAccess, wanted: HubWanted): Promise<readonly HubDatasetFile[]> {
  const { repo, config, split, revision } = wanted;
  const dataset = await readHubRepo(hub, repo, revision);
  const ofConfig = choose(dataset.configs, config, 'config', 'default', repo);
  return choose(ofConfig.splits, split, 'split', 'train', repo).files;
}

/**
 * The configurations and splits of a dataset.
 * @throws AppError `invalid` if `repo` is no name of a dataset, and as `readHubDataset`.
 */
export async function readHubRepo(
  hub: HubAccess,
  repo: string,
  revision: string | null,
): Promise<HubDataset> {
  if (isHubId(repo)) return readHubDataset(hub, repo, revision);
  throw refusalOf('repo', `"${repo.slice(0, 200)}" is not the name of a dataset on the hub (owner/name)`);
}

/** The configuration or split of this name; without one, the only or the usual one. @throws AppError `invalid`. */
function choose<T extends { readonly name: string }>(
  all: readonly T[],
  wanted: string | null,
  what: string,
  usual: string,
  repo: string,
): T {
  const found = all.find(({ name }) => name === (wanted ?? usual));
  if (found !== undefined) return found;
  if (wanted === null && all.length === 1) return all[0] as T;
  const names = all.map(({ name }) => name).join(', ');
  throw refusalOf(what, `"${repo}" needs one of its ${what}s: ${names.slice(0, 500)}`);
}
