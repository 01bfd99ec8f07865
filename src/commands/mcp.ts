import { once } from 'node:events';
import { join } from 'node:path';
import { serveMcp } from '../api/mcp/stdio.ts';
import { fetchLocal } from '../client/local-service.ts';
import { startService } from '../client/start-service.ts';
import type { Config } from '../config.ts';
import { version } from '../version.ts';

/**
 * `hone mcp`: the Model Context Protocol over standard input and output, for agents that start their servers. It asks the
 * running service of this user, or one that it starts until the agent has left.
 */
export async function runMcp({ dataDir, cacheDir, installDir, environment: env }: Config): Promise<void> {
  const logPath = join(cacheDir, 'command-service.log');
  const { local, leave } = await startService({ dataDir, installDir, port: 0, logPath, env });
  const described = await fetchLocal(local, '/api/openapi.json');
  const description = (await described.json()) as Record<string, unknown>;
  await serveMcp(version, description, async ({ method, path, query, body }) => {
    const headers = body === null ? {} : { 'content-type': 'application/json' };
    const answer = await fetchLocal(local, `${path}?${query}`, { method, body, headers });
    return { status: answer.status, body: await answer.text() };
  });
  const left = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => left.abort());
  await once(process.stdin, 'close', { signal: left.signal }).catch(() => undefined);
  await leave();
}
