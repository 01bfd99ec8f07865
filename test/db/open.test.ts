import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openDatabase } from '../../src/db/open.ts';
import { Database } from '../../src/db/sqlite.ts';
import { openStore } from '../../src/db/store.ts';
import { root, temporaryFolder } from '../folders.ts';

const migrations = join(root, 'src', 'db', 'migrations');

test('a new database is durable and at the newest migration; opening again changes nothing', () => {
  const path = join(temporaryFolder(), 'deep', 'hone.sqlite');
  const db = openDatabase(path, migrations);
  assert.is(db.pragma('journal_mode', { simple: true }), 'wal');
  assert.is(db.pragma('synchronous', { simple: true }), 2, '2 is FULL');
  const version = db.pragma('user_version', { simple: true });
  db.close();
  const again = openDatabase(path, migrations);
  assert.is(again.pragma('user_version', { simple: true }), version);
  again.close();
});

test('a database of a newer version is refused and left alone', () => {
  const path = join(temporaryFolder(), 'hone.sqlite');
  const newer = new Database(path);
  newer.pragma('user_version = 9999');
  newer.close();
  assert.throws(() => openDatabase(path, migrations), /newer version/);
});

test('a database of the first version is brought up, and its frames are found by their steps', () => {
  const folder = temporaryFolder();
  const path = join(folder, 'hone.sqlite');
  const first = join(folder, 'migrations');
  mkdirSync(first);
  cpSync(join(migrations, '0001_foundation.sql'), join(first, '0001_foundation.sql'));
  const old = openDatabase(path, first);
  old.exec(`
    INSERT INTO jobs (model_id, state, task, provider, strategy, model_name, dataset_name, spec, created_at)
      VALUES ('one', 'stopped', 'text-generation', 'standard', 'sft', 'a/b', 'rows.jsonl', 'null', '2026');
    INSERT INTO events VALUES (1, 1, 'status', '2026', '{"state":"running"}');
    INSERT INTO events VALUES (2, 1, 'metrics', '2026', '{"kind":"train","step":1,"loss":3}');
    INSERT INTO events VALUES (3, 1, 'metrics', '2026', '{"kind":"eval","step":1,"metrics":{}}');
    INSERT INTO events VALUES (4, 1, 'metrics', '2026', '{"kind":"train","step":2,"loss":2}');
    INSERT INTO events VALUES (5, 1, 'log', '2026', '{"level":"info","kind":"sample","step":2}');`);
  assert.is(old.pragma('user_version', { simple: true }), 1);
  old.close();
  const store = openStore(path, migrations);
  store.events.append({
    ...{ seq: 6, jobId: 1, type: 'metrics', time: '2026' },
    payload: { kind: 'train', step: 2, loss: 1 },
  });
  assert.equal(store.events.steps(1, 'train'), [2, 6]);
  assert.equal(store.events.steps(1, 'eval'), [3]);
  assert.equal(store.events.bySeq([4])[0], {
    ...{ seq: 4, jobId: 1, type: 'metrics', time: '2026' },
    payload: { kind: 'train', step: 2, loss: 2 },
  });
  assert.is(store.events.since(0, 10).length, 6);
  store.close();
});

test('a transaction that throws leaves nothing', () => {
  const store = openStore(join(temporaryFolder(), 'hone.sqlite'), migrations);
  assert.throws(() =>
    store.transaction(() => {
      store.session.set('a', 1);
      throw new Error('no');
    }),
  );
  assert.is(store.session.get('a'), undefined);
  store.close();
});

test.run();
