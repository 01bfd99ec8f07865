import { openService } from '../src/commands/serve.ts';
import { readConfig } from '../src/config.ts';
import { createLogger } from '../src/logger.ts';
import { type Client, clientOf } from './client.ts';
import { temporaryFolder } from './folders.ts';

/** A real service in this process, for tests of what needs no other: no trainer, no engine, no warm trainer. */
export interface InsideService extends Client {
  readonly dataDir: string;
  end(): Promise<unknown>;
}

const open = new Set<InsideService>();

/** Opens a service with its own port and data directory. */
export async function openInside(
  options: {
    dataDir?: string;
    env?: NodeJS.ProcessEnv;
    limits?: Record<string, number>;
    args?: string[];
  } = {},
): Promise<InsideService> {
  const dataDir = options.dataDir ?? temporaryFolder();
  const env = {
    HOME: dataDir,
    SERVICE_DATA_DIR: dataDir,
    HONE_HTTP: 'node',
    HONE_TEST_LIMITS: JSON.stringify({ warmTrainerIdleMs: 0, ...options.limits }),
    // No test asks OpenAI.
    OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
    ...options.env,
  };
  const args = ['serve', '--port', '0', '--host', '127.0.0.1', '--log-level', 'silent'];
  const config = readConfig([...args, ...(options.args ?? [])], env, dataDir);
  const { url, recover, close } = await openService(config, createLogger(config));
  await recover();
  const service = {
    ...clientOf(url),
    dataDir,
    async end() {
      open.delete(service);
      await close();
    },
  };
  open.add(service);
  return service;
}

/** Ends every service that this file opened. */
export async function endAll(): Promise<void> {
  await Promise.all([...open].map((service) => service.end()));
}
