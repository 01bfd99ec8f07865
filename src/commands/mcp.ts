import { serveMcp } from '../api/mcp/stdio.ts';
import { fetchLocal, readLocalService } from '../client/local-service.ts';
import type { Config } from '../config.ts';
import { AppError } from '../errors.ts';
import { version } from '../version.ts';

/**
 * `hone mcp`: the Model Context Protocol over standard input and output, for agents that start their servers. It asks the
 * running service of this user.
 * @throws AppError `unavailable` if none runs.
 */
export async function runMcp({ dataDir }: Config): Promise<void> {
  const service = readLocalService(dataDir);
  const described =
    service === null ? null : await fetchLocal(service, '/api/openapi.json').catch(() => null);
  if (service === null || !described?.ok)
    throw new AppError('unavailable', 'No service runs with this data directory. Start it with "npm start".');
  await serveMcp(version, await described.json(), async ({ method, path, query, body }) => {
    const headers: HeadersInit = body === null ? {} : { 'content-type': 'application/json' };
    const answer = await fetchLocal(service, `${path}?${query}`, { method, body, headers });
    return { status: answer.status, body: await answer.text() };
  });
}
