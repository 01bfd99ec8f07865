/** A disk that is full: what was stored stays readable, nothing partial is seen, and the answer says so. */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, root, startService, supportRows, temporaryFolder } from '../service.ts';
import { readDescription } from './description.ts';

test.after(endAll);

if (process.platform === 'linux') {
  test('an upload that the disk cannot hold is 507 and leaves nothing; reads and smaller uploads go on', async () => {
    const shim = join(temporaryFolder(), 'full-disk.so');
    const source = join(root, 'test', 'native', 'fake', 'full-disk.c');
    execFileSync(process.env.CC ?? 'cc', ['-shared', '-fPIC', '-O1', source, '-o', shim, '-ldl'], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const service = await startService({ env: { LD_PRELOAD: shim, FAKE_DISK_BYTES: '3000000' } });
    const description = await readDescription(service);
    assert.is((await service.upload('support.jsonl', supportRows())).status, 200);
    const row = `${JSON.stringify({ input: 'x'.repeat(1000), output: 'y' })}\n`;
    for (const name of ['large.jsonl', 'support.jsonl']) {
      const refused = await service.upload(name, row.repeat(4000));
      description.check('POST', '/api/upload_dataset', refused);
      assert.is(refused.status, 507, JSON.stringify(refused.body));
      assert.is(refused.body.status_code, 507);
      assert.match(refused.body.detail, /disk/i);
    }
    assert.equal(readdirSync(join(service.dataDir, 'datasets')), ['support.jsonl']);
    const kept = await service.call('GET', '/api/datasets/support.jsonl');
    assert.equal([kept.status, kept.body.num_examples], [200, 400], 'what was there is whole');
    assert.is((await service.call('GET', '/api/datasets')).body.datasets.length, 1);
    assert.is((await service.upload('small.jsonl', supportRows().slice(0, 2000))).status, 200);
  });
}

test.run();
