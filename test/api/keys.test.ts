/** Access keys: the routes, and the command `hone key` beside the running service and without one. */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type Answer,
  endAll,
  type Json,
  root,
  startService,
  type TestService,
  temporaryFolder,
} from '../service.ts';
import { type Description, readDescription } from './description.ts';

const form = /^hone_([0-9a-f]{8})_[A-Za-z0-9_-]{43}$/;
let service: TestService;
let description: Description;

test.before(async () => {
  service = await startService();
  description = await readDescription(service);
});
test.after(endAll);

/** A request whose answer must be as the OpenAPI document says. */
async function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  const answer = await service.call(method, path, body);
  description.check(method, path, answer);
  return answer;
}

const list = async (): Promise<Json[]> => (await ask('GET', '/api/keys')).body.keys;

/** Runs `hone key` on a data directory. */
function command(
  dataDir: string,
  ...args: string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { ...process.env, SERVICE_DATA_DIR: dataDir };
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [join(root, 'dist', 'main.js'), 'key', ...args],
      { env, cwd: dataDir },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

test('a key is shown once, listed without its secret, and removed', async () => {
  const added = await ask('POST', '/api/keys', { name: ' laptop ', scope: 'inference' });
  assert.is(added.status, 200, JSON.stringify(added.body));
  const { key, ...record } = added.body;
  assert.is(form.exec(key)?.[1], record.id);
  assert.equal([record.name, record.scope, record.last_used_at], ['laptop', 'inference', null]);
  const second = (await ask('POST', '/api/keys', { name: 'desk' })).body;
  assert.is(second.scope, 'full');
  assert.equal(
    (await list()).map(({ name }) => name),
    ['desk', 'laptop'],
    'the newest first',
  );
  assert.equal((await list())[1], record);
  for (const { id } of [record, second]) {
    const removed = await ask('DELETE', `/api/keys/${id}`);
    assert.equal([removed.status, removed.body.status], [200, 'deleted']);
  }
  assert.equal(await list(), []);
  const again = await ask('DELETE', `/api/keys/${record.id}`);
  assert.is(again.status, 404);
  assert.match(again.body.detail, record.id);
});

test('a bad key is refused with every reason', async () => {
  for (const [body, ...words] of [
    [{}, 'name'],
    [{ name: '' }, 'name', '1 to 64'],
    [{ name: ' ' }, 'name', '1 to 64'],
    [{ name: 'x'.repeat(65) }, 'name', '1 to 64'],
    [{ name: 'a\nb' }, 'name', 'control'],
    [{ name: 'a', scope: 'half' }, 'scope', 'full, train, inference'],
    [{ name: '', scope: 1, key: 'x' }, 'name', 'scope', 'key'],
  ] as const) {
    const { status, body: answer } = await ask('POST', '/api/keys', body);
    assert.is(status, 400, JSON.stringify(body));
    for (const word of words) assert.match(answer.detail, word);
  }
  assert.equal(await list(), []);
});

test('hone key works beside the running service, which sees each change at once', async () => {
  const added = await command(service.dataDir, 'add', 'build server', '--scope', 'inference');
  assert.is(added.code, 0, added.stderr);
  assert.match(added.stdout.trim(), form);
  assert.match(added.stderr, '"build server"');
  const id = form.exec(added.stdout.trim())?.[1] as string;
  assert.not.match(added.stderr, added.stdout.trim(), 'the key is on the standard output alone');
  assert.equal(
    (await list()).map((key) => [key.id, key.name, key.scope]),
    [[id, 'build server', 'inference']],
  );
  const shown = await command(service.dataDir, 'list');
  assert.match(
    shown.stdout,
    new RegExp(`^ID +SCOPE +CREATED +LAST USED +NAME\n${id}  inference .* never +build server\n$`),
  );
  const removed = await command(service.dataDir, 'remove', id);
  assert.is(removed.code, 0);
  assert.equal(await list(), []);
  const secret = added.stdout.trim().slice(14);
  const database = join(service.dataDir, 'database');
  for (const file of readdirSync(database)) {
    assert.not.ok(readFileSync(join(database, file)).includes(secret), `${file} does not hold the key`);
  }
  assert.not.match(JSON.stringify(service.log), secret);
});

test('a key that is removed by command is refused by the running service at its next request', async () => {
  const locked = await startService({ args: ['--access', 'key'] });
  const { stdout } = await command(locked.dataDir, 'add', 'laptop');
  const key = stdout.trim();
  const status = async () => {
    const headers = { authorization: `Bearer ${key}`, connection: 'close' };
    return (await fetch(`${locked.url}/api/keys`, { headers })).status;
  };
  assert.is(await status(), 200);
  const id = form.exec(key)?.[1] as string;
  const row = new RegExp(`^${id}  full +\\S+ \\S+ UTC +\\S+ \\S+ UTC +laptop$`, 'm');
  assert.match((await command(locked.dataDir, 'list')).stdout, row, 'its use was noted');
  assert.is((await command(locked.dataDir, 'remove', id)).code, 0);
  assert.is(await status(), 401);
});

test('hone key works without a service, and says what is wrong', async () => {
  const folder = temporaryFolder();
  assert.match((await command(folder, 'list')).stdout, 'there are no access keys');
  const { stdout } = await command(folder, 'add', 'laptop');
  const id = form.exec(stdout.trim())?.[1] as string;
  assert.match((await command(folder, 'list')).stdout, new RegExp(`${id}  full`));
  for (const [args, words] of [
    [['remove', '00000000'], /no access key with the ID "00000000"/],
    [['add', 'a\tb'], /1 to 64 characters, and no control/],
    [['add', ''], /1 to 64 characters/],
    [['add', 'a', 'b'], /hone key add NAME/],
    [['add', 'a', '--scope', 'half'], /full, train, inference/],
    [['remove'], /hone key remove ID/],
    [[], /hone key list/],
    [['dance'], /hone key list/],
  ] as [string[], RegExp][]) {
    const { code, stderr, stdout: said } = await command(folder, ...args);
    assert.is(code, 1, args.join(' '));
    assert.match(stderr, words);
    assert.is(said, '');
  }
  assert.is((await command(folder, 'remove', id)).code, 0);
  assert.match((await command(folder, 'list')).stdout, 'there are no access keys');
});

test.run();
