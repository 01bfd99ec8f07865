import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService } from '../service.ts';

test.after(endAll);

test('a service whose log is no longer read continues, and ends on a signal', async () => {
  const service = await startService();
  service.process.stdout?.destroy();
  service.process.stderr?.destroy();
  assert.is((await service.call('GET', '/api/health')).status, 200);
  // The end writes two lines.
  assert.is(await service.end('SIGTERM'), 0);
});

test.run();
