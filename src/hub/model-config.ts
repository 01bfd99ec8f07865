import { AppError } from '../errors.ts';
import type { HubAccess } from './access.ts';
import { createHubFetch } from './hub-fetch.ts';

/** A longer configuration is none that a model has. */
const answerBytes = 2 ** 24;

/**
 * The `config.json` of a model repository's main revision.
 * @throws AppError `upstream` when the hub cannot be reached, answers with another status, or with no JSON.
 */
export async function readModelConfig(
  access: HubAccess,
  repository: string,
): Promise<Record<string, unknown>> {
  const hubFetch = createHubFetch(access, `asked for the configuration of "${repository}"`, { answerBytes });
  const answer = await hubFetch(`${access.endpoint}/${repository}/resolve/main/config.json`);
  const config: unknown = answer.ok ? await answer.json().catch(() => null) : null;
  if (typeof config === 'object' && config !== null) return config as Record<string, unknown>;
  throw new AppError(
    'upstream',
    `The hub returned no configuration of "${repository}" (status ${answer.status}).`,
  );
}
