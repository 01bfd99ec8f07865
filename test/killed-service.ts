import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as assert from 'uvu/assert';
import { root, startService } from './service.ts';

/**
 * Sends a request to a service that is killed in the middle of it.
 * @param moment as `kill-at.mjs` takes it, such as `rename-before datasets`.
 */
export async function killedService(
  dataDir: string,
  moment: string,
  [method, path, body]: readonly [method: string, path: string, body?: object],
): Promise<void> {
  const preload = pathToFileURL(join(root, 'test', 'kill-at.mjs')).href;
  const service = await startService({
    dataDir,
    env: { NODE_OPTIONS: `--import=${preload}`, HONE_TEST_KILL: moment },
  });
  await service.call(method, path, body).then(
    ({ status }) => assert.unreachable(`${moment}: ${status}`),
    () => {},
  );
  await service.end();
  assert.is(service.process.signalCode, 'SIGKILL', moment);
}
