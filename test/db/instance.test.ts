import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { lockInstance, readInstance } from '../../src/db/instance.ts';
import { temporaryFolder } from '../folders.ts';

test('a data directory is locked once, and says who holds it', () => {
  const dir = temporaryFolder();
  const lock = lockInstance(dir, join(dir, 'database', 'hone.sqlite'));
  lock.announce('http://localhost:8000');
  assert.equal(readInstance(dir), { pid: process.pid, url: 'http://localhost:8000' });
  assert.throws(
    () => lockInstance(dir, join(dir, 'other.sqlite')),
    new RegExp(`data directory .* process ${process.pid} at http://localhost:8000\\. Stop that one first`),
  );
  lock.release();
  assert.is(readInstance(dir), null);
  lockInstance(dir, join(dir, 'database', 'hone.sqlite')).release();
});

test('two data directories with the same database, by whatever name, are refused', () => {
  const [one, two] = [temporaryFolder(), temporaryFolder()];
  mkdirSync(join(one, 'database'));
  symlinkSync(join(one, 'database'), join(two, 'linked'));
  const path = join(one, 'database', 'hone.sqlite');
  const lock = lockInstance(one, path);
  writeFileSync(path, '');
  symlinkSync(path, join(two, 'linked.sqlite'));
  for (const same of [path, join(two, 'linked', 'hone.sqlite'), join(two, 'linked.sqlite')])
    assert.throws(() => lockInstance(two, same), /The database .* is in use by process \d+.*SERVICE_DB_PATH/);
  lock.release();
  // The refused starts have left nothing locked.
  lockInstance(two, path).release();
});

test('the lock of a service that has ended, whatever it contains, is taken over', () => {
  for (const content of ['', 'garbled', 'x'.repeat(10_000)]) {
    const dir = temporaryFolder();
    writeFileSync(join(dir, 'instance.lock'), content);
    writeFileSync(join(dir, 'instance.json'), '{"pid":1,"url":"http://localhost:1"}');
    const lock = lockInstance(dir, join(dir, 'hone.sqlite'));
    assert.is(readInstance(dir)?.pid, process.pid);
    assert.throws(() => lockInstance(dir, join(dir, 'hone.sqlite')), /in use/);
    lock.release();
  }
});

test('a folder that cannot be made is reported with what to do', () => {
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, '');
  assert.throws(
    () => lockInstance(join(file, 'data'), join(file, 'hone.sqlite')),
    /The folder .*data cannot be made \(ENOTDIR\)\. Make it writable by this user, or set SERVICE_DATA_DIR to another one/,
  );
});

test('a lock that is not a file is reported with what to do', () => {
  const dir = temporaryFolder();
  mkdirSync(join(dir, 'instance.lock'));
  assert.throws(
    () => lockInstance(dir, join(dir, 'hone.sqlite')),
    /instance\.lock cannot be opened.*move it away/,
  );
});

test('an invalid instance description is ignored, and so is an address that is not HTTP', () => {
  const dir = temporaryFolder();
  for (const text of ['', '{', 'null', '42', '"x"', '[]', '{"pid":"1"}', '{"url":"http://localhost"}']) {
    writeFileSync(join(dir, 'instance.json'), text);
    assert.is(readInstance(dir), null, text);
  }
  for (const url of ['nonsense', 'file:///etc/passwd', 7, {}]) {
    writeFileSync(join(dir, 'instance.json'), JSON.stringify({ pid: 1, url }));
    assert.equal(readInstance(dir), { pid: 1, url: null });
  }
});

test('a holder without a readable description is still noticed', () => {
  const dir = temporaryFolder();
  const lock = lockInstance(dir, join(dir, 'hone.sqlite'));
  writeFileSync(join(dir, 'instance.json'), 'garbled');
  assert.throws(() => lockInstance(dir, join(dir, 'hone.sqlite')), /in use by another process/);
  assert.is(readFileSync(join(dir, 'instance.json'), 'utf8'), 'garbled');
  lock.release();
});

test.run();
