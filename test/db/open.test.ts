import { join } from 'node:path';
import Database from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openDatabase } from '../../src/db/open.ts';
import { openStore } from '../../src/db/store.ts';
import { endAll, root, temporaryFolder } from '../service.ts';

const migrations = join(root, 'src', 'db', 'migrations');
test.after(endAll);

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
