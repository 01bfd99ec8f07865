import { createHash } from 'node:crypto';
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { backupsDir, findDamage, listBackups, makeBackup } from '../../src/db/backup.ts';
import { newestMigration, openDatabase } from '../../src/db/open.ts';
import { prepareDatabase } from '../../src/db/restore.ts';
import { Database } from '../../src/db/sqlite.ts';
import { openStore } from '../../src/db/store.ts';
import { root, temporaryFolder } from '../folders.ts';

const migrations = join(root, 'src', 'db', 'migrations');
const newest = newestMigration(migrations);

/** A database of several pages with a backup; after the backup, `state` has become `later`. */
async function setUp() {
  const folder = temporaryFolder();
  const path = join(folder, 'hone.sqlite');
  const store = openStore(path, migrations);
  store.session.set('filler', 'x'.repeat(200_000));
  store.session.set('state', 'backed up');
  store.close();
  const backup = await makeBackup(path, null);
  const later = openStore(path, migrations);
  later.session.set('state', 'later');
  later.close();
  return { folder, path, backup };
}

function stateIn(path: string): unknown {
  const store = openStore(path, migrations);
  try {
    return store.session.get('state');
  } finally {
    store.close();
  }
}

test('backups are made while the database is written, and the newest are kept with one made before a migration', async () => {
  const path = join(temporaryFolder(), 'hone.sqlite');
  const store = openStore(path, migrations);
  const migration = await makeBackup(path, 2);
  for (let count = 1; count <= 5; count += 1) {
    store.session.set('state', count);
    await makeBackup(path, null);
  }
  const backups = listBackups(path);
  assert.equal(
    backups.map((backup) => (backup.beforeMigration === null ? stateIn(backup.path) : backup.path)),
    [5, 4, 3, migration.path],
  );
  assert.is(store.session.get('state'), 5);
  store.close();
});

/** What can happen to the bytes of a database. */
const damages: Record<string, (bytes: Buffer) => Buffer> = {
  'half of it': (bytes) => bytes.subarray(0, bytes.length / 2),
  'one byte': (bytes) => bytes.subarray(0, 1),
  'another header': (bytes) => Buffer.concat([Buffer.from('<!doctype html>\n'), bytes.subarray(16)]),
  'zeros instead of pages': (bytes) =>
    Buffer.concat([bytes.subarray(0, 4096), Buffer.alloc(bytes.length - 4096)]),
  'random pages': (bytes) =>
    Buffer.concat([bytes.subarray(0, 4096), Buffer.alloc(bytes.length - 4096, 'no page of SQLite')]),
  nothing: () => Buffer.alloc(0),
};
for (const [what, damage] of Object.entries(damages)) {
  test(`a database of which ${what} is left is set aside with its WAL, and the newest good backup is opened`, async () => {
    const { folder, path, backup } = await setUp();
    // A newer backup that was damaged later.
    cpSync(backup.path, join(backupsDir(path), '2999-01-01T00-00-00.000Z.sqlite'));
    truncateSync(join(backupsDir(path), '2999-01-01T00-00-00.000Z.sqlite'), 5000);
    const bytes = damage(readFileSync(path));
    writeFileSync(path, bytes);
    writeFileSync(`${path}-wal`, 'the WAL');
    const restoration = await prepareDatabase(path, migrations);
    assert.is(restoration?.backup?.path, backup.path);
    const aside = restoration?.setAside as string;
    assert.is(readFileSync(`${aside}-wal`, 'utf8'), 'the WAL');
    if (bytes.length > 0) assert.ok(readFileSync(aside).equals(bytes), 'kept as it was');
    assert.is(stateIn(path), 'backed up');
    const store = openStore(path, migrations);
    assert.is(store.session.get('restored'), true, 'also known after an interrupted start');
    store.close();
    assert.is(await prepareDatabase(path, migrations), null, 'only once');
    assert.equal(
      readdirSync(folder).filter((name) => name.includes('restoring')),
      [],
    );
  });
}

test('a database that is intact is left alone, with what is only in its WAL', async () => {
  const { folder, path } = await setUp();
  const store = openStore(path, migrations);
  store.session.set('state', 'in the WAL');
  // As after a kill: the files of an open database.
  const copy = join(folder, 'copy.sqlite');
  for (const ending of ['', '-wal']) cpSync(path + ending, copy + ending);
  store.close();
  const before = readFileSync(copy);
  assert.is(await prepareDatabase(copy, migrations), null);
  assert.ok(readFileSync(copy).equals(before));
  assert.is(stateIn(copy), 'in the WAL');
});

test('without a database and a backup there is nothing to restore; an empty file counts as none', async () => {
  const path = join(temporaryFolder(), 'hone.sqlite');
  assert.is(await prepareDatabase(path, migrations), null);
  writeFileSync(path, '');
  assert.is(await prepareDatabase(path, migrations), null);
});

test('damage without a backup leaves a new database', async () => {
  const path = join(temporaryFolder(), 'hone.sqlite');
  writeFileSync(path, 'no database');
  const restoration = await prepareDatabase(path, migrations);
  assert.is(restoration?.backup, null);
  assert.is(readFileSync(restoration?.setAside as string, 'utf8'), 'no database');
  assert.ok(!existsSync(path));
});

test('a file that cannot be read does not count as damaged', () => {
  const folder = temporaryFolder();
  assert.throws(
    () => findDamage(folder),
    (error: Error & { code: string }) => error.code === 'SQLITE_IOERR_READ',
  );
});

test('a key that was removed after the backup stays removed, and no session comes back', async () => {
  const { path } = await setUp();
  const key = (id: string) => ({
    id,
    name: id,
    hash: createHash('sha256').update(id).digest(),
    scope: 'full',
  });
  const time = '2026-01-01T00:00:00.000Z';
  const first = openStore(path, migrations);
  for (const id of ['kept', 'removed']) {
    first.access.insertKey({ ...key(id), createdAt: time });
    first.access.insertSession({ hash: key(id).hash, keyId: id, createdAt: time, expiresAt: '2999' });
  }
  first.close();
  await makeBackup(path, null);
  const later = openStore(path, migrations);
  assert.ok(later.access.removeKey('removed'));
  later.close();
  truncateSync(path, 5000);
  assert.ok((await prepareDatabase(path, migrations))?.backup);
  const restored = openStore(path, migrations);
  assert.equal(
    restored.access.listKeys().map(({ id }) => id),
    ['kept'],
  );
  for (const id of ['kept', 'removed']) assert.is(restored.access.getSession(key(id).hash), null);
  restored.close();
});

test('damage deep in a large database is found by its backup, and by the start after that', async () => {
  const { path } = await setUp();
  const store = openStore(path, migrations);
  for (let part = 0; part < 66; part += 1) store.session.set(`filler-${part}`, 'x'.repeat(2 ** 20));
  store.close();
  assert.ok(statSync(path).size > 2 ** 26);
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(8192, 'no page'), 0, 8192, 2 ** 25);
  closeSync(file);
  assert.is(await prepareDatabase(path, migrations), null, 'the short check does not see it');
  const error = await makeBackup(path, null).catch((thrown) => thrown);
  assert.match(error.message, 'is damaged');
  const restoration = await prepareDatabase(path, migrations);
  assert.ok(restoration?.backup);
  assert.is(stateIn(path), 'backed up');
});

test('a damaged database is not backed up, and the good backups stay', async () => {
  const { path, backup } = await setUp();
  const bytes = readFileSync(path);
  writeFileSync(path, damages['zeros instead of pages']?.(bytes) as Buffer);
  let message = '';
  await makeBackup(path, null).catch((error) => {
    message = error.message;
  });
  assert.match(message, /damaged|malformed/);
  assert.equal(
    listBackups(path).map((one) => one.path),
    [backup.path],
  );
  assert.equal(
    readdirSync(backupsDir(path)).filter((name) => name.endsWith('.partial')),
    [],
  );
});

/** A text for every column: some are JSON, which others are generated from. */
const text = '{"created_at": 1, "status": "queued"}';

/** Fills each table of a database with one row. */
function fillTables(db: ReturnType<typeof openDatabase>): string[] {
  const tables = db
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .pluck()
    .all() as string[];
  db.pragma('foreign_keys = OFF');
  for (const table of tables) {
    const columns = (
      db.pragma(`table_xinfo(${table})`) as { name: string; type: string; hidden: number }[]
    ).filter(({ hidden }) => hidden === 0);
    const values = columns.map(({ type }) => (type === 'TEXT' ? text : 1));
    db.prepare(
      `INSERT INTO ${table} (${columns.map(({ name }) => name).join()}) VALUES (${columns.map(() => '?').join()})`,
    ).run(...values);
  }
  return tables;
}

for (let version = 1; version < newest; version += 1) {
  test(`a database of version ${version} is backed up and brought to version ${newest} with its rows`, async () => {
    const folder = temporaryFolder();
    const earlier = join(folder, 'migrations');
    mkdirSync(earlier);
    for (const name of readdirSync(migrations))
      if (Number(name.slice(0, 4)) <= version) cpSync(join(migrations, name), join(earlier, name));
    const path = join(folder, 'hone.sqlite');
    const old = openDatabase(path, earlier);
    const tables = fillTables(old);
    const rows = (db: typeof old, table: string) => db.prepare(`SELECT * FROM ${table}`).get() as object;
    const before = tables.map((table) => rows(old, table));
    old.close();

    assert.is(await prepareDatabase(path, migrations), null);
    const db = openDatabase(path, migrations);
    assert.is(db.pragma('user_version', { simple: true }), newest);
    assert.is(db.pragma('integrity_check', { simple: true }), 'ok');
    for (const [index, table] of tables.entries()) {
      const now = rows(db, table) as Record<string, unknown>;
      for (const [column, value] of Object.entries(before[index] as object))
        assert.is(now[column], value, `${table}.${column}`);
    }
    db.close();
    const [backup, ...others] = listBackups(path);
    assert.equal([backup?.beforeMigration, others], [newest, []]);
    const kept = new Database(backup?.path as string, { readonly: true });
    assert.is(kept.pragma('user_version', { simple: true }), version);
    kept.close();
    assert.is(await prepareDatabase(path, migrations), null);
    assert.is(listBackups(path).length, 1, 'one for each migration');
  });
}

test.run();
