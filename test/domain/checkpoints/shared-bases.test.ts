import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openStore } from '../../../src/db/store.ts';
import { createSharedBases } from '../../../src/domain/checkpoints/shared-bases.ts';
import { root, temporaryFolder } from '../../folders.ts';

test('files of bases that nothing names are deleted, and what trials of exports learned is kept', async () => {
  const folder = temporaryFolder();
  const store = openStore(join(folder, 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  const basesDir = join(folder, 'bases');
  mkdirSync(basesDir);
  for (const name of ['a.gguf', 'b.partial', 'c.dry-run.json']) writeFileSync(join(basesDir, name), '');
  const bases = createSharedBases({ store, basesDir, jobsDir: join(folder, 'jobs'), deleted: () => [] });
  assert.equal(await bases.sweep(), [join(basesDir, 'a.gguf')]);
  assert.equal(readdirSync(basesDir), ['c.dry-run.json']);
  store.close();
});

test.run();
