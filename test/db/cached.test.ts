import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openStore } from '../../src/db/store.ts';
import { root, temporaryFolder } from '../folders.ts';

const job = {
  ...{ modelId: 'one', state: 'queued', task: 'text-generation', provider: 'standard', strategy: 'sft' },
  ...{ modelName: 'a/b', datasetName: 'rows.jsonl', createdAt: '2026-01-01T00:00:00.000Z' },
};

test('a reading of the jobs is the same object until one changes, and never one that was taken back', () => {
  const store = openStore(join(temporaryFolder(), 'jobs.sqlite'), join(root, 'src', 'db', 'migrations'));
  const newest = store.jobs.cached(() => store.jobs.newest());
  assert.is(newest(), null);
  const id = store.jobs.insert(job);
  const first = newest();
  assert.is(first?.state, 'queued');
  assert.is(newest(), first);
  assert.throws(() =>
    store.transaction(() => {
      store.jobs.update(id, { state: 'starting' });
      assert.is(newest()?.state, 'starting');
      throw new Error('taken back');
    }),
  );
  assert.is(newest()?.state, 'queued');
  store.transaction(() => store.jobs.update(id, { state: 'running' }));
  assert.is(newest()?.state, 'running');
  store.jobs.remove(id);
  assert.is(newest(), null);
  store.close();
});

test.run();
