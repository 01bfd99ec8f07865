/** The package as a user gets it: packed, installed in an empty home, and the demo by one line. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { lastLine } from '../demo/demo-process.ts';
import { root, temporaryFolder } from '../service.ts';

const { npmProgram } = await import(new URL('../../setup/npm-program.mjs', import.meta.url).href);
const home = temporaryFolder();
const prefix = temporaryFolder();
const npm = (...args: string[]) =>
  execFileSync(process.execPath, [npmProgram(), ...args], { cwd: home, encoding: 'utf8' });

/** Runs the installed command in the empty home, with the downloads of npm and pip that are already here. */
function hone(...args: string[]) {
  const shared = {
    npm_config_cache: npm('config', 'get', 'cache').trim(),
    npm_config_userconfig: npm('config', 'get', 'userconfig').trim(),
  };
  const folders = { HOME: home, XDG_CACHE_HOME: '', XDG_DATA_HOME: '', SERVICE_DATA_DIR: '' };
  const ended = spawnSync(
    process.execPath,
    [join(prefix, 'lib', 'node_modules', 'hone-tune', 'app/setup/package/hone.mjs'), ...args],
    {
      ...{ cwd: home, encoding: 'utf8' as const, maxBuffer: 2 ** 26 },
      env: { ...process.env, ...shared, ...folders, OMP_NUM_THREADS: '1' },
    },
  );
  return { code: ended.status, out: ended.stdout, errors: ended.stderr };
}

test.before(() => {
  const said = execFileSync(process.execPath, ['setup.mjs', 'package'], { cwd: root, encoding: 'utf8' });
  const [, file = '', megabytes] = /(build\/hone-tune-\S+\.tgz): ([\d.]+) MB/.exec(said) ?? [];
  console.log(`figure: package: ${megabytes} MB`);
  npm('install', '--global', '--prefix', prefix, join(root, file));
});

test('one line sets Hone up and fine-tunes a model; commands then answer at once; nothing is left but the data', () => {
  const { code, out, errors } = hone('demo', '--port', '0');
  assert.is(code, 0, errors.slice(-4000));
  assert.match(out.trim().split('\n').at(-1) as string, lastLine);
  const models = hone('models', '--json');
  assert.is(models.code, 0, models.errors);
  assert.is(JSON.parse(models.out).models.length, 1);
  assert.match(hone('upgrade').out, /is set up in .*\.cache\/hone\/app/);
  assert.match(hone('uninstall').out, /Your datasets, models and runs are still in /);
  assert.equal(readdirSync(join(home, '.cache')), []);
  assert.ok(existsSync(join(home, '.local', 'share', 'hone', 'model_checkpoints')));
});

test.run();
