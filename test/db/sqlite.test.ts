import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Database, packageFor } from '../../src/db/sqlite.ts';
import { openStore } from '../../src/db/store.ts';
import { root, temporaryFolder } from '../folders.ts';

const migrations = join(root, 'src', 'db', 'migrations');

test('Node 20 takes the release that is compiled for it, a newer one the release with its binaries', () => {
  assert.equal([20, 22, 24, 26].map(packageFor), [
    'better-sqlite3-node20',
    'better-sqlite3',
    'better-sqlite3',
    'better-sqlite3',
  ]);
  const version = new Database(':memory:').prepare('SELECT sqlite_version() AS v').get() as { v: string };
  assert.match(version.v, /^3\./);
});

// Each file was written by the two releases in turn, and last by the one that it is named for.
for (const [release, models] of Object.entries({
  12: ['first', 'second', 'third'],
  13: ['first', 'second'],
})) {
  test(`a database last written by better-sqlite3 ${release} is read and written`, () => {
    const path = join(temporaryFolder(), 'hone.sqlite');
    copyFileSync(join(root, 'test', 'db', `written-by-${release}.sqlite`), path);
    for (const next of ['here', 'here again']) {
      const store = openStore(path, migrations);
      assert.equal(
        store.jobs
          .inStates(['completed', 'queued'])
          .map(({ modelId }) => modelId)
          .sort(),
        models.sort(),
      );
      store.jobs.insert({
        ...{ modelId: next, state: 'queued', task: 'text-generation', provider: 'standard', strategy: 'sft' },
        ...{ modelName: 'a/b', datasetName: 'rows.jsonl', createdAt: '2026-01-02T00:00:00.000Z' },
      });
      models.push(next);
      store.close();
    }
  });
}

test.run();
