import { join } from 'node:path';
import { createClient } from '../client/http-client.ts';
import { findService, startService } from '../client/start-service.ts';
import { readConfig } from '../config.ts';
import { AppError } from '../errors.ts';
import { version } from '../version.ts';
import type { Invocation } from './command.ts';

type Connection = Awaited<ReturnType<Invocation['connect']>> & { leave(): Promise<void> };

/**
 * Reaches the running service, or starts one for the moment. @param setUp installs what the service needs, and returns
 * whether it is there. @throws AppError `unavailable`.
 */
export async function connect(setUp: () => Promise<boolean>): Promise<Connection> {
  const { dataDir, cacheDir, installDir } = readConfig(['serve'], process.env, process.cwd());
  const there = await findService(dataDir);
  if (there === null && !(await setUp()))
    throw new AppError('unavailable', 'Hone is not running, and is not set up.');
  const logPath = join(cacheDir, 'command-service.log');
  const options = { dataDir, installDir, port: 0, logPath, env: process.env };
  const service =
    there ??
    (await startService(options).catch((cause) => {
      throw new AppError('unavailable', (cause as Error).message, { cause });
    }));
  if (service.version === version)
    return { client: createClient(service.local), isOurs: there === null, leave: service.leave };
  throw new AppError(
    'unavailable',
    `The service at ${service.local.url} speaks version ${service.version} of the API, and this command ${version}. Start the service of this version.`,
  );
}
