/** How the package `hone-tune` brings its application into the user's cache folder. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { platformCacheDir, readConfig } from '../../src/config.ts';
import { temporaryFolder } from '../folders.ts';
import { mountSmallDisk } from '../small-disk.ts';

/** Set-up is plain JavaScript, which has no types. */
const setUp = (name: string) => import(new URL(`../../setup/package/${name}.mjs`, import.meta.url).href);
const { newerChanges } = await setUp('changes');
const { folders } = await setUp('folders');
const { isNewer, makeCache, placeApp, readInstalled, removeApp } = await setUp('place-app');

/** An application of files. */
function application(files: Record<string, string>): string {
  const folder = temporaryFolder();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

const build = (version: string) => ({ version, digest: `digest of ${version}` });

test('its folders are those of the service', () => {
  for (const env of [{}, { XDG_CACHE_HOME: '/c', XDG_DATA_HOME: '/d' }, { SERVICE_DATA_DIR: '/e' }]) {
    const { cache, data } = folders(env);
    assert.is(cache, platformCacheDir(env, process.platform));
    assert.is(data, readConfig([], env, temporaryFolder()).dataDir);
  }
});

test('it is copied once, and replaces an earlier version: files that are gone go, what was set up stays', () => {
  const app = join(temporaryFolder(), 'hone', 'app');
  const first = application({ 'setup.mjs': '1', 'src/old.ts': 'old' });
  assert.is(placeApp(first, app, build('1.9.0')), null);
  mkdirSync(join(app, 'node_modules'));
  writeFileSync(join(app, 'setup.mjs'), 'changed');
  assert.is(placeApp(first, app, build('1.9.0')), null);
  assert.is(readFileSync(join(app, 'setup.mjs'), 'utf8'), 'changed', 'the same build is not copied again');
  const second = application({ 'setup.mjs': '2', 'src/new.ts': 'new' });
  assert.is(placeApp(second, app, build('1.10.0')), '1.9.0');
  assert.is(readFileSync(join(app, 'setup.mjs'), 'utf8'), '2');
  assert.equal(
    ['src/old.ts', 'src/new.ts', 'node_modules'].map((path) => existsSync(join(app, path))),
    [false, true, true],
  );
  assert.throws(
    () => placeApp(first, app, build('1.9.0')),
    /Hone 1\.10\.0 is installed in .*, and this is 1\.9\.0/,
  );
  assert.is(readInstalled(app)?.version, '1.10.0');
  assert.equal(
    [isNewer('2.0.0', '1.10.3'), isNewer('1.9.0', '1.10.0'), isNewer('2.0.0', '2.0.0')],
    [true, false, false],
  );
});

test('an interrupted copy is done again', () => {
  const app = join(temporaryFolder(), 'app');
  const from = application({ 'setup.mjs': '1', 'src/main.ts': 'main' });
  placeApp(from, app, build('1.0.0'));
  rmSync(join(app, 'src'), { recursive: true });
  writeFileSync(join(app, 'installed.json'), '{"version": "1.0');
  placeApp(from, app, build('1.0.0'));
  assert.is(readFileSync(join(app, 'src/main.ts'), 'utf8'), 'main');
});

test('a full disk is told, nothing counts as installed, and the next start completes it', () => {
  const disk = mountSmallDisk(2 ** 20);
  if (typeof disk === 'string') return void console.log(`skipped: ${disk}`);
  try {
    const app = join(disk.folder, 'app');
    const from = application({ 'setup.mjs': 'x'.repeat(400_000), 'src/main.ts': 'x'.repeat(400_000) });
    const filler = disk.fill();
    assert.throws(
      () => placeApp(from, app, build('1.0.0')),
      /cannot be installed in .*: the disk is full \(ENOSPC\)/,
    );
    assert.is(readInstalled(app), null);
    rmSync(filler);
    placeApp(from, app, build('1.0.0'));
    assert.is(readInstalled(app)?.version, '1.0.0');
  } finally {
    disk.unmount();
  }
});

test('a home that cannot be written to is told', () => {
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, '');
  assert.throws(
    () => makeCache(join(file, 'cache')),
    /^Hone cannot be installed in .*cache: it cannot be made \(ENOTDIR\)\. Correct that/,
  );
});

test('it is removed without the data, and not under a running service', () => {
  const home = temporaryFolder();
  const where = folders({ XDG_CACHE_HOME: join(home, 'cache'), XDG_DATA_HOME: join(home, 'data') });
  placeApp(application({ 'setup.mjs': '1' }), where.app, build('1.0.0'));
  mkdirSync(where.data, { recursive: true });
  writeFileSync(join(where.data, 'instance.json'), JSON.stringify({ pid: process.pid, url: null }));
  assert.throws(() => removeApp(where), /Hone is running \(process \d+\)/);
  assert.ok(existsSync(where.app));
  rmSync(join(where.data, 'instance.json'));
  assert.match(removeApp(where), /Your datasets, models and runs are still in /);
  assert.equal([existsSync(where.cache), existsSync(where.data)], [false, true]);
});

test('what an upgrade changes is the newer part of the changelog', () => {
  const log = '# Changelog\n\n## [Unreleased]\n\n- c\n\n## [2.0.0]\n\n- b\n\n## [1.0.0]\n\n- a\n';
  assert.is(newerChanges(log, '2.0.0'), '## [Unreleased]\n\n- c');
  assert.is(newerChanges(log, '1.0.0'), '## [Unreleased]\n\n- c\n\n## [2.0.0]\n\n- b');
});

test.run();
