import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { python, root } from '../../bench/harness/places.ts';

/* A million rows for every strategy and family; HONE_COUNT (`--count`) makes it more or fewer. */
test('a million rows start within 1 GB above the model', async () => {
  const file = join(root, 'trainer', 'tests', 'training', 'test_large.py');
  const child = spawn(python, ['-m', 'pytest', '-s', '-m', 'long', file], {
    cwd: root,
    env: { ...process.env, HONE_ROWS: process.env.HONE_COUNT ?? '1000000' },
    stdio: 'inherit',
  });
  const code = await new Promise((done) => child.once('close', done));
  assert.is(code, 0);
});

test.run();
