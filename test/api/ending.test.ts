/** The end of a service while its trainer does not say what it can do, as on a machine that is busy. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { installationWith } from '../installation.ts';
import { endAll, startService } from '../service.ts';

test.after(endAll);

for (const [state, python] of [
  ['is still starting', 'exec sleep 20'],
  ['does not start', 'exit 1'],
] as const) {
  test(`a trainer that ${state} does not delay the end of the service`, async () => {
    const service = await startService({ env: { HONE_INSTALL_DIR: installationWith(python) } });
    assert.is((await service.call('GET', '/api/datasets')).status, 200);
    assert.is(await service.end(), 0);
  });
}

test.run();
