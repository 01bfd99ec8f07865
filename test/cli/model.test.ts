/** `hone model`: models of other services, added, listed and removed through the running service, and no byte of a key told. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { searchFolder } from '../hub/canaries.ts';
import { type RemoteService, startRemote } from '../remote-service.ts';
import { endAll, startService, type TestService, temporaryFolder } from '../service.ts';
import { runHone } from './run-hone.ts';

const key = 'sk-canaryRemote0123456789';
const folder = temporaryFolder();
let service: TestService;
let remote: RemoteService;

/** What a command came to, which never has the key. */
async function hone(...args: string[]) {
  const env = { SERVICE_DATA_DIR: service.dataDir, HOME: folder, OTHER_KEY: key, NO_KEY: '' };
  const ended = await runHone(args, { cwd: folder, env });
  assert.not.match(ended.out + ended.errors, key);
  return ended;
}

test.before(async () => {
  remote = await startRemote();
  service = await startService();
});
test.after(async () => {
  await endAll();
  remote.close();
});

test('a model is added with the key of a variable, asked, listed and removed', async () => {
  assert.match((await hone('model', 'list')).out, /^NAME +URL +MODEL +KEY +ADDED\n$/);
  const added = await hone(
    'model',
    'add',
    'gpt',
    '--url',
    remote.url,
    '--model',
    'good',
    '--key-env',
    'OTHER_KEY',
  );
  assert.equal([added.code, added.errors], [0, `hone: gpt is answered at ${remote.url}.\n`]);
  const { status, body } = await service.call('POST', '/v1/chat/completions', {
    ...{ model: 'gpt', messages: [{ role: 'user', content: 'Where is it?' }], store: true },
  });
  assert.is(status, 200, JSON.stringify(body));
  assert.is(remote.asked.at(-1)?.headers.authorization, `Bearer ${key}`);
  const client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: 'unused', maxRetries: 0 });
  const stream = client.chat.completions.stream({
    ...{ model: 'gpt', messages: [{ role: 'user', content: 'Where is it?' }], store: true },
  });
  assert.is((await stream.finalMessage()).content, 'We trace it – now.');
  assert.match((await hone('model', 'list')).out, new RegExp(`^gpt +${remote.url} +good +yes `, 'm'));
  await hone('model', 'add', 'refuses', '--url', remote.url, '--key-env', 'OTHER_KEY');
  assert.is(
    (
      await service.call('POST', '/v1/chat/completions', {
        model: 'refuses',
        messages: [{ role: 'user', content: 'a' }],
      })
    ).status,
    502,
  );
});

test('no log, report, backup or kept answer has the key', async () => {
  const { code, errors } = await hone('report');
  assert.is(code, 0, errors);
  searchFolder(folder, [key]);
  assert.not.match(JSON.stringify(service.log), key);
  for (const entry of readdirSync(service.dataDir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name === 'remote-models.json') continue;
    const path = join(entry.parentPath, entry.name);
    assert.not.ok(readFileSync(path).includes(key), path);
  }
});

test('what is not valid is told', async () => {
  const told = async (...args: string[]) => {
    const { code, errors } = await hone('model', ...args);
    return [code, errors];
  };
  assert.equal(await told('dance'), [
    2,
    'hone: Use "hone model add NAME --url URL", "hone model list" or "hone model remove NAME".\n',
  ]);
  assert.equal(await told('add', 'x', '--url', remote.url, '--key-env', 'NO_KEY'), [
    2,
    'hone: The environment has no variable NO_KEY, or it is empty.\n',
  ]);
  assert.match(
    (await told('add', 'x', '--url', 'ftp://a.example'))[1] as string,
    /must be an http:\/\/ or https:/,
  );
  assert.match((await told('add', 'gpt', '--url', remote.url))[1] as string, /There is a model "gpt"/);
  assert.match((await told('add', 'x'))[1] as string, /"url" is required/);
  assert.equal(await told('remove', 'gpt'), [0, 'hone: The model gpt was removed\n']);
  assert.is((await told('remove', 'gpt'))[0], 1);
  assert.is(JSON.parse((await hone('model', 'list', '--json')).out).remote_models.length, 1);
});

test.run();
