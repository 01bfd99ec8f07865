/** Which engine serves: the native one wherever it works, and what is said where it does not. */
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chooseEngine } from '../../src/http/engines/choose.ts';
import { endAll, root, startService, temporaryFolder } from '../service.ts';
import { native } from './engines.ts';

test.after(endAll);

const trialProgram = join(root, 'dist', 'try-uws.js');
const choose = (path: string, memoryPath: string, program = trialProgram) =>
  chooseEngine({
    wanted: null,
    tls: null,
    natives: [{ path, version: '1.2.3' }],
    trialProgram: program,
    memoryPath,
  });

test('the service says what serves it, and why', async () => {
  const service = await startService();
  const { body } = await service.call('GET', '/api/info');
  const expected = process.env.HONE_HTTP ?? (native === undefined ? 'node' : 'uws');
  assert.is(body.http.engine, expected);
  assert.equal(body.http, service.log.find(({ url }) => url).http);
  assert.is(body.http.reason === null, expected === 'uws');
  assert.match(service.log.find(({ url }) => url).msg, body.http.description);
});

test('HONE_HTTP=node takes that of Node', async () => {
  const service = await startService({ env: { HONE_HTTP: 'node' } });
  assert.is((await service.call('GET', '/api/info')).body.http.engine, 'node');
});

test('HONE_HTTP=uws where it cannot load ends with the reason and the cure', async () => {
  // An installation without the packages: nothing of uWebSockets.js lies there.
  const error = await startService({ env: { HONE_HTTP: 'uws', HONE_INSTALL_DIR: temporaryFolder() } }).catch(
    (failure) => failure,
  );
  assert.match(error.message, /ended with 1/);
  assert.match(error.message, /HONE_HTTP=uws, but there is no native build of uWebSockets\.js for Node \d+/);
  assert.match(error.message, 'Unset HONE_HTTP');
  const wrong = await startService({ env: { HONE_HTTP: 'apache' } }).catch((failure) => failure);
  assert.match(wrong.message, 'HONE_HTTP must be one of uws, node, not "apache"');
});

test('a file that is not an addon, and a different addon, are ignored', async () => {
  const folder = temporaryFolder();
  const garbage = join(folder, 'garbage.node');
  writeFileSync(garbage, 'not an addon');
  const first = await choose(garbage, join(folder, 'a.json'));
  assert.is(first.engine.name, 'node');
  assert.match(first.reason ?? '', /uWebSockets\.js 1\.2\.3 does not work here \(.+\)/);
  const other = await choose(join(root, 'build', 'native', 'Release', 'hone.node'), join(folder, 'b.json'));
  assert.is(other.engine.name, 'node');
  assert.match(other.reason ?? '', 'App is not a function');
});

test('a trial that crashes or never ends does not affect the service', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'some.node');
  writeFileSync(file, '');
  const program = join(folder, 'crash.mjs');
  writeFileSync(program, 'process.kill(process.pid, "SIGSEGV");\nsetInterval(() => {}, 1e6);');
  const { engine, reason } = await choose(file, join(folder, 'memory.json'), program);
  assert.is(engine.name, 'node');
  assert.match(reason ?? '', 'was ended by SIGSEGV');
});

test('a trial is remembered until the file is another', async () => {
  const folder = temporaryFolder();
  const [file, memory, program] = ['some.node', 'memory.json', 'trial.mjs'].map((name) => join(folder, name));
  writeFileSync(file as string, '');
  writeFileSync(program as string, 'console.error("the first"); process.exit(1);');
  const reason = async () => (await choose(file as string, memory as string, program)).reason ?? '';
  assert.match(await reason(), 'the first');
  writeFileSync(program as string, 'console.error("the second"); process.exit(1);');
  assert.match(await reason(), 'the first');
  writeFileSync(file as string, 'longer');
  assert.match(await reason(), 'the second');
  writeFileSync(memory as string, 'no JSON');
  assert.match(await reason(), 'the second');
});

const works = native;
if (works !== undefined) {
  test('a native build that works is taken', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'uws.node');
    copyFileSync(works.path, file);
    const { engine, reason } = await choose(file, join(folder, 'memory.json'));
    assert.equal([engine.name, engine.description, reason], ['uws', 'uWebSockets.js 1.2.3', null]);
  });
}

test.run();
