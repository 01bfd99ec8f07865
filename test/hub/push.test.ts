import { execFile, execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import WebSocket from 'ws';
import { runHone } from '../cli/run-hone.ts';
import {
  type Answer,
  endAll,
  type Json,
  quickRequest,
  root,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  tinyModel,
  until,
  untilEnded,
} from '../service.ts';
import { canaries, dotenv, searchAnswers, searchFolder, secrets, watchDescendants } from './canaries.ts';
import { type LoopbackHub, startLoopbackHub } from './loopback.ts';
import { sha256Of } from './repositories.ts';

const token = 'hf_canaryForPushing0123456789';
const limits = { hubTimeoutMs: 500, hubBackoffMs: 20, hubWaitMs: 1500 };
const cleared = { HUB_TOKEN: '', HF_TOKEN: '', HUGGINGFACE_TOKEN: '', HF_HUB_OFFLINE: '' };
const python = join(root, 'trainer', '.venv', 'bin', 'python');

let hub: LoopbackHub;
let service: TestService;
let model: Json;
const home = temporaryFolder();
const dataDir = temporaryFolder();
const frames: Json[] = [];
const environment = () => ({
  ...{ ...cleared, ...canaries },
  ...{ HUB_TOKEN: token, HF_ENDPOINT: hub.url, HF_HOME: home },
});
const all = [token, ...secrets];

/** A model whose tokenizer names the `.env` of the service, which is in its working directory. */
function trap(name: string): string {
  const folder = join(temporaryFolder(), name);
  cpSync(tinyModel('llama'), folder, { recursive: true });
  const path = join(folder, 'tokenizer_config.json');
  const files = Object.fromEntries(
    ['vocab', 'merges', 'vocab_file', 'tokenizer_file'].map((key) => [key, join(dataDir, '.env')]),
  );
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), ...files }));
  return folder;
}

const asRole = (role: 'read' | 'write') =>
  hub.accounts.set(token, {
    name: 'alice',
    role,
    orgs: [
      { name: 'team', roleInOrg: 'write' },
      { name: 'readers', roleInOrg: 'read' },
    ],
  });

const push = (repository: string, changes: Record<string, unknown> = {}, of = service): Promise<Answer> =>
  of.call('POST', '/api/hub/push', {
    model_id: model.model_id,
    repo_name: repository,
    private: false,
    ...changes,
  });

const pushFrames = (repository: string) =>
  frames.filter(
    (frame) => frame.type === 'model' && frame.action === 'push' && frame.repo_name === repository,
  );

const asked = (pattern: RegExp) =>
  hub.seen.filter(({ method, path }) => pattern.test(`${method} ${path}`)).length;
const uploads = () => hub.storage.seen.filter(({ method }) => method === 'PUT').length;
const forget = () => {
  hub.seen.length = 0;
  hub.storage.seen.length = 0;
};

test.before(async () => {
  hub = await startLoopbackHub();
  hub.pageSize = 3;
  asRole('write');
  writeFileSync(join(dataDir, '.env'), dotenv);
  hub.addModel('alice/tiny', trap('tiny'), { isPrivate: true, cardData: { license: 'apache-2.0' } });
  service = await startService({ dataDir, limits, env: environment() });
  const socket = new WebSocket(`${service.url.replace('http', 'ws')}/ws/training`);
  socket.on('message', (data) => frames.push(JSON.parse(data.toString())));
  await service.upload('support.jsonl', supportRows());
});
test.after(async () => {
  await endAll();
  await hub.close();
});

test('a model is trained from the hub end to end, and its token stays at the hub', async () => {
  const watch = watchDescendants(service.process.pid as number, all);
  const start = await service.call(
    'POST',
    '/api/start_training',
    quickRequest({ model_name: 'alice/tiny', max_steps: 2 }),
  );
  assert.is(start.status, 200, JSON.stringify(start.body));
  const status = await untilEnded(service);
  watch.end();
  assert.is(status.status, 'completed', JSON.stringify(status));
  if (process.platform === 'linux') {
    const seen = [...watch.found].filter(([command]) => command.includes('-m trainer'));
    assert.ok(seen.length > 1, 'the process that downloads, and the one that trains');
    for (const [command, found] of watch.found) {
      const downloads = /-m trainer run \S+$/.test(command);
      assert.equal(
        found.filter((secret) => !(downloads && secret === token)),
        [],
        command,
      );
      assert.not.ok(command.includes(token), command);
    }
  }
  assert.ok(asked(/^GET \/alice\/tiny\/resolve/) > 0, 'files came from the hub');
  assert.ok(
    hub.seen.some(
      ({ path, authorization }) => path.startsWith('/alice/tiny') && authorization?.includes(token),
    ),
  );
  const cdn = hub.storage.seen.filter(({ method }) => method === 'GET');
  assert.ok(cdn.length > 0, 'weights came from the storage host');
  assert.equal(
    cdn.filter(({ authorization }) => authorization !== null),
    [],
  );
  [model] = (await service.call('GET', '/api/models/')).body;
  assert.is(model.base_model, 'alice/tiny');
});

test('a push makes a repository with all parts of the model, and tells its progress', async () => {
  forget();
  hub.partBytes = 60_000;
  const adapter = readdirSync(join(service.dataDir, 'model_checkpoints')).map((name) =>
    join(service.dataDir, 'model_checkpoints', name, 'adapter'),
  );
  // Only files that are known to belong to an adapter are sent.
  for (const folder of adapter) {
    writeFileSync(join(folder, 'notes.txt'), 'private');
    writeFileSync(join(folder, 'training_args.bin'), 'private');
  }
  const { status, body } = await push('alice/first', { private: true });
  hub.partBytes = 5 * 2 ** 30;
  assert.is(status, 200, JSON.stringify(body));
  assert.equal(Object.keys(body).sort(), ['message', 'repo_url', 'success']);
  assert.is(body.success, true);
  assert.is(body.repo_url, `${hub.url}/alice/first`);
  const repository = hub.repositories.get('alice/first');
  assert.is(repository?.isPrivate, true);
  const files = [...(repository?.revisions.get(repository.head)?.keys() ?? [])].sort();
  assert.equal(
    files.filter((path) => !/^(tokenizer|special|chat_template|\.git)/.test(path)),
    ['Modelfile', 'README.md', 'adapter_config.json', 'adapter_model.safetensors', 'model-Q8_0.gguf'],
  );
  assert.ok(files.includes('tokenizer.json'));
  assert.ok(uploads() > 2, 'large files went in parts');
  assert.equal(
    hub.storage.seen.filter(({ authorization }) => authorization !== null),
    [],
  );
  await until(() => pushFrames('alice/first').at(-1)?.state === 'done', 'the end was told');
  const told = pushFrames('alice/first');
  assert.equal([told[0].state, told[0].fraction], ['comparing', 0]);
  assert.ok(
    told.some(({ state }) => state === 'uploading') && told.some(({ state }) => state === 'committing'),
  );
  const fractions = told.map(({ fraction }) => fraction);
  assert.equal(
    fractions,
    [...fractions].sort((a, b) => a - b),
    'the fraction never falls',
  );
  assert.is(told.at(-1).fraction, 1);
});

test('the command shows how far a push is, and its end', async () => {
  const env = { ...environment(), SERVICE_DATA_DIR: service.dataDir };
  const underway = async () =>
    (await service.call('GET', `/api/models/${model.model_id}/push`)).body.underway;
  assert.is(await underway(), null);
  hub.faults.push({ match: /preupload|commit/, how: { delayMs: 400 }, times: 2 });
  const args = ['push', model.name, 'alice/by-command', '--no-private'];
  const ended = runHone(args, { cwd: home, env });
  const seen: Json[] = [];
  while ((await Promise.race([ended, sleep(50, null)])) === null) {
    const one = await underway();
    if (one !== null) seen.push(one);
  }
  const { code, out, errors } = await ended;
  assert.is(code, 0, errors);
  assert.is(out, `${hub.url}/alice/by-command\n`);
  assert.match(
    errors,
    /^Push +done \(\d+ s\)\nhone: The model .* was pushed to the new public repository alice\/by-command/m,
  );
  assert.ok(seen.length > 0 && seen.every(({ repo_name }) => repo_name === 'alice/by-command'));
  assert.is(await underway(), null);
});

test('what has been pushed is not pushed again', async () => {
  forget();
  const { status, body } = await push('alice/first', { model_id: '1' });
  assert.is(status, 200, JSON.stringify(body));
  assert.match(body.message, /already/);
  assert.equal([uploads(), asked(/^POST .*(commit|batch|create)/)], [0, 0]);
  assert.is(hub.repositories.get('alice/first')?.isPrivate, true, 'a private repository stays private');
});

test('the stock Python client reads back what was pushed', async () => {
  // Not `execFileSync`: the hub answers from this process.
  const { stdout } = await promisify(execFile)(
    python,
    [join(root, 'test', 'hub', 'read_back.py'), 'alice/first'],
    {
      env: { ...process.env, ...cleared, HF_TOKEN: token, HF_ENDPOINT: hub.url, HF_HOME: temporaryFolder() },
    },
  );
  const read = JSON.parse(stdout);
  assert.is(read.base_model, 'alice/tiny');
  assert.is(read.license, 'apache-2.0');
  assert.is(read.pipeline_tag, 'text-generation');
  assert.is(read.adapter_base, 'alice/tiny');
  assert.ok(read.tags.includes('gguf') && read.tags.includes('lora'));
  assert.ok(read.tensors > 0);
  assert.is(read.gguf_magic, 'GGUF');
  assert.is(read.gguf_sha256, sha256Of(readFileSync(join(model.path, 'model-Q8_0.gguf'))));
});

test('the card tells base, dataset, settings, metrics, checks and four ways to run it', async () => {
  const repository = hub.repositories.get('alice/first');
  const card = String(repository?.revisions.get(repository.head)?.get('README.md')?.bytes);
  const shown = await service.call('GET', `/api/models/${model.model_id}/card?repo_name=alice/first`);
  assert.is(shown.body, card, 'what is shown before is what is pushed');
  const wrong = await service.call('GET', `/api/models/${model.model_id}/card?repo_name=nonsense`);
  assert.is(wrong.status, 400);
  for (const part of [
    'https://huggingface.co/alice/tiny',
    '`support.jsonl`',
    '`learning_rate`',
    '`lora_r` | `16`',
    '`final_loss`',
    '`agreement`',
    '/v1/chat/completions',
    'llama-cli',
    'ollama create',
    'AutoPeftModelForCausalLM',
  ]) {
    assert.ok(card.includes(part), part);
  }
  assert.not.ok(card.includes(dataDir), 'no path of this machine');
});

test('a push that broke off uploads only what is missing', async () => {
  forget();
  // One of the two large files arrives; the other one's connection breaks in the middle, each time.
  hub.storage.objects.clear();
  const oid = sha256Of(readFileSync(join(model.path, 'model-Q8_0.gguf')));
  hub.storage.faults.push({ match: new RegExp(`^PUT /${oid}`), how: { dropAfterBytes: 20_000 } });
  const broken = await push('team/second');
  hub.storage.faults.length = 0;
  assert.is(broken.status, 502, JSON.stringify(broken.body));
  assert.match(broken.body.detail, /hub/);
  await until(() => pushFrames('team/second').at(-1)?.state === 'failed', 'the failure was told');
  assert.is(hub.repositories.get('team/second')?.commits.length, 1, 'no half model is seen');
  assert.is([...hub.storage.objects.keys()].includes(oid), false);
  const arrived = hub.storage.objects.size;
  forget();
  const again = await push('team/second');
  assert.is(again.status, 200, JSON.stringify(again.body));
  assert.ok(arrived > 0);
  assert.is(uploads(), 1, 'the one that was missing');
  assert.ok(hub.storage.objects.has(oid));
});

test('a push can be cancelled, and the next one sends only what is missing', async () => {
  hub.storage.objects.clear();
  const oid = sha256Of(readFileSync(join(model.path, 'model-Q8_0.gguf')));
  hub.storage.faults.push({ match: new RegExp(`^PUT /${oid}`), how: { hang: true } });
  const cancel = () => service.call('POST', `/api/models/${model.model_id}/push/cancel`);
  assert.is((await cancel()).status, 409, 'nothing is being pushed');
  forget();
  const pushed = push('team/cancelled');
  await until(() => uploads() > 1, 'the large file is on its way');
  const { status, body } = await cancel();
  assert.is(status, 200, JSON.stringify(body));
  assert.is(body.status, 'cancelled');
  const ended = await pushed;
  assert.is(ended.status, 409);
  assert.match(ended.body.detail, /cancelled/);
  await until(() => pushFrames('team/cancelled').at(-1)?.state === 'cancelled', 'it was told');
  assert.is(hub.repositories.get('team/cancelled')?.commits.length, 1, 'no half model is seen');
  hub.storage.faults.length = 0;
  const arrived = hub.storage.objects.size;
  forget();
  assert.is((await push('team/cancelled')).status, 200);
  assert.ok(arrived > 0);
  assert.is(uploads(), 1, 'the one that was missing');
  assert.is((await service.call('POST', '/api/models/none/push/cancel')).status, 404);
});

test('a repository that lost a file gets only that file', async () => {
  const repository = hub.repositories.get('team/second');
  const files = new Map(repository?.revisions.get(repository.head));
  files.delete('Modelfile');
  repository?.revisions.set(repository.head, files);
  forget();
  assert.is((await push('team/second')).status, 200);
  assert.equal(repository?.commits.at(-1)?.paths, ['Modelfile']);
  assert.is(uploads(), 0);
});

test('connections that break, 5xx and 429 on the way are overcome', async () => {
  hub.storage.objects.clear();
  hub.storage.faults.push({ match: /^PUT/, how: { dropAfterBytes: 1000 }, times: 2 });
  hub.faults.push(
    { match: /whoami/, how: { status: 503 }, times: 1 },
    { match: /create/, how: { status: 500 }, times: 1 },
    { match: /preupload/, how: { status: 429, headers: { 'retry-after': '0' } }, times: 1 },
    { match: /batch/, how: { status: 502 }, times: 1 },
    { match: /commit/, how: { status: 504 }, times: 1 },
  );
  const { status, body } = await push('alice/third');
  hub.faults.length = 0;
  hub.storage.faults.length = 0;
  assert.is(status, 200, JSON.stringify(body));
  assert.is(hub.repositories.get('alice/third')?.commits.length, 2);
});

test('each failing step is reported with a message that does not contain the token', async () => {
  const cases: [RegExp, number, number][] = [
    [/whoami/, 401, 403],
    [/whoami/, 500, 502],
    [/create/, 403, 403],
    [/create/, 400, 400],
    [/preupload/, 403, 403],
    [/batch/, 404, 403],
    [/batch/, 507, 502],
    [/commit/, 412, 409],
    [/commit/, 503, 502],
    [/commit/, 422, 400],
  ];
  for (const [match, status, expected] of cases) {
    hub.faults.push({ match, how: { status, body: { error: `refused ${token}` } } });
    const answer = await push('alice/never');
    hub.faults.length = 0;
    const what = `${match} ${status}: ${JSON.stringify(answer.body)}`;
    assert.is(answer.status, expected, what);
    assert.type(answer.body.detail, 'string', what);
    assert.not.ok(answer.body.detail.includes(token), what);
    assert.ok(/hub/i.test(answer.body.detail) && answer.body.detail.length > 40, what);
    if (hub.repositories.has('alice/never')) {
      assert.is(hub.repositories.get('alice/never')?.commits.length, 1, what);
      hub.repositories.delete('alice/never');
    }
  }
});

test('storage that refuses is 502, and its signed address is not told', async () => {
  hub.storage.objects.clear();
  hub.storage.faults.push({ match: /^PUT/, how: { status: 403 } });
  const { status, body } = await push('alice/never');
  hub.storage.faults.length = 0;
  assert.is(status, 502);
  assert.match(body.detail, /storage answered 403/);
  assert.not.ok(body.detail.includes('signature'), body.detail);
});

test('a hub that falls silent in an upload is given up', async () => {
  hub.storage.objects.clear();
  hub.storage.faults.push({ match: /^PUT/, how: { hang: true }, times: 1 });
  const { status, body } = await push('alice/silent');
  hub.storage.faults.length = 0;
  assert.is(status, 200, JSON.stringify(body));
});

test('a redirect of a push to another host is refused, and nothing goes there', async () => {
  hub.storage.objects.clear();
  hub.storage.faults.push({ match: /^PUT/, how: { redirect: hub.url } });
  const stored = await push('alice/redirected');
  hub.storage.faults.length = 0;
  assert.is(stored.status, 502);
  assert.match(stored.body.detail, /storage redirects/);
  for (const match of [/whoami/, /preupload/, /commit/]) {
    forget();
    hub.faults.push({ match, how: { redirect: hub.storage.url } });
    const { status, body } = await push('alice/redirected');
    hub.faults.length = 0;
    assert.is(status, 502, String(match));
    assert.match(body.detail, /another host/);
    assert.equal(
      hub.storage.seen.filter(({ method, authorization }) => method !== 'PUT' || authorization !== null),
      [],
    );
  }
});

test('who may not write is refused before anything is uploaded', async () => {
  const expectRefusal = async (repository: string, words: RegExp) => {
    forget();
    const { status, body } = await push(repository);
    assert.is(status, 403, JSON.stringify(body));
    assert.match(body.detail, words);
    assert.equal([uploads(), asked(/create|preupload|batch|commit/)], [0, 0]);
  };
  const account = async () => (await service.call('GET', '/api/hub/account')).body;
  asRole('read');
  assert.match((await account()).problem.message, /read token/);
  await expectRefusal('alice/refused', /read token/);
  asRole('write');
  assert.equal(await account(), {
    name: 'alice',
    organizations: ['team', 'readers'],
    problem: null,
    token_from: 'environment',
  });
  await expectRefusal('stranger/refused', /alice, team, readers/);
  await expectRefusal('readers/refused', /only read access/);
  const fineGrained = (name: string, permissions: string[]) =>
    hub.accounts.set(token, {
      name: 'alice',
      role: 'fineGrained',
      scoped: [{ entity: { type: 'user', name }, permissions }],
    });
  fineGrained('alice', ['repo.content.read']);
  await expectRefusal('alice/refused', /fine-grained/);
  fineGrained('team', ['repo.content.read', 'repo.write']);
  await expectRefusal('alice/refused', /fine-grained/);
  fineGrained('alice', ['repo.content.read', 'repo.write']);
  assert.is((await push('alice/granted')).status, 200);
  hub.accounts.delete(token);
  await expectRefusal('alice/refused', /does not accept the hub token/);
  asRole('write');
});

test('a private push to a public repository is refused', async () => {
  forget();
  const { status, body } = await push('alice/third', { private: true });
  assert.is(status, 409, JSON.stringify(body));
  assert.match(body.detail, /public/);
  assert.is(asked(/preupload|batch|commit/), 0);
});

test('a model that is being pushed is neither pushed twice nor deleted', async () => {
  hub.faults.push({ match: /preupload/, how: { delayMs: 400 }, times: 1 });
  const first = push('alice/slow');
  await until(() => pushFrames('alice/slow').length > 0, 'the push began');
  const second = await push('alice/other');
  assert.is(second.status, 409);
  assert.match(second.body.detail, /being pushed to alice\/slow/);
  const removed = await service.call('DELETE', `/api/models/${model.model_id}`);
  assert.equal([removed.status, typeof removed.body.detail], [409, 'string']);
  const flat = await service.call('DELETE', '/api/models/1');
  assert.equal([flat.status, flat.body.status_code], [409, 409]);
  assert.is((await first).status, 200);
  assert.is((await service.call('GET', '/api/models/1')).status, 200);
});

test('what is asked wrongly is refused in the format of the set', async () => {
  forget();
  for (const repository of [
    'first',
    'alice/',
    'alice/a b',
    'https://evil.example/x',
    'alice/../x',
    '',
    'a/b/c',
  ]) {
    const { status, body } = await push(repository);
    assert.is(status, 400, repository);
    assert.equal(body.detail[0].loc, ['body', 'repo_name']);
  }
  assert.is((await push('alice/x', { private: 'yes' })).status, 400);
  assert.is((await push('alice/x', { model_id: 1 })).status, 400);
  assert.is((await push('alice/x', { model_id: '99' })).status, 404);
  assert.is((await push('alice/x', { model_id: 'f'.repeat(36) })).status, 404);
  assert.equal(hub.seen, []);
});

test('a preview and an answer of the model run without secrets', async () => {
  const watch = watchDescendants(service.process.pid as number, all);
  const folder = trap('bert');
  rmSync(join(folder, 'tokenizer.json'));
  writeFileSync(join(folder, 'spiece.model'), 'x');
  const config = join(folder, 'tokenizer_config.json');
  const named = { ...JSON.parse(readFileSync(config, 'utf8')), tokenizer_class: 'BertTokenizer' };
  writeFileSync(config, JSON.stringify({ ...named, unk_token: '[UNK]' }));
  const preview = await service.call('POST', '/api/datasets/support.jsonl/preview', {
    ...{ task: 'text-generation', model_name: folder, rows: 3 },
  });
  assert.not.match(JSON.stringify(preview.body), /canary/);
  const answer = await service.call('POST', '/api/playground/new', {
    ...{ model_id: model.model_id, prompt: 'ab', max_length: 4, temperature: 0 },
  });
  assert.is(answer.status, 200, JSON.stringify(answer.body));
  assert.not.match(JSON.stringify(answer.body), /canary/);
  watch.end();
  if (process.platform !== 'linux') return;
  const commands = [...watch.found.keys()].join('\n');
  for (const program of ['-m trainer preview', 'inference-worker.js']) assert.match(commands, program);
  for (const [command, found] of watch.found) assert.equal(found, [], command);
});

test('secrets of the environment and of .env are in no file, log, answer, frame or pushed file', async () => {
  assert.ok((await searchAnswers(service, model.model_id, all)) > 40);
  assert.equal(
    all.filter((secret) => JSON.stringify([service.log, frames]).includes(secret)),
    [],
  );
  // The database, job folders, logs, models, and what was downloaded.
  for (const folder of [dataDir, home]) assert.ok(searchFolder(folder, all) > 5, folder);
  const pushed = [...hub.repositories].filter(([id]) => id !== 'alice/tiny');
  const files = pushed.flatMap(([id, { head, revisions }]) =>
    [...(revisions.get(head) ?? [])].map(([path, { bytes }]) => ({ name: `${id}/${path}`, bytes })),
  );
  assert.ok(files.length > 5);
  for (const { name, bytes } of files) {
    assert.equal(
      all.filter((secret) => Buffer.from(bytes).includes(secret)),
      [],
      name,
    );
  }
});

test('a part that is missing on disk is reported before anything is uploaded', async () => {
  const modelfile = join(model.path, 'Modelfile');
  const text = readFileSync(modelfile);
  execFileSync('rm', [modelfile]);
  const { status, body } = await push('alice/gone');
  writeFileSync(modelfile, text);
  assert.is(status, 400, JSON.stringify(body));
  assert.match(body.detail, /is missing/);
  assert.not.ok(hub.repositories.has('alice/gone'));
});

test('a large file goes through in little memory', async () => {
  const gguf = join(model.path, 'model-Q8_0.gguf');
  const bytes = statSync(gguf).size;
  const residentMb = () => {
    const listed = execFileSync('ps', ['-o', 'rss=', '-p', String(service.process.pid)], {
      encoding: 'utf8',
    });
    return Number(listed) / 1000;
  };
  const before = residentMb();
  let most = before;
  truncateSync(gguf, 200_000_000);
  const answer = push('alice/large');
  let status: number | null = null;
  answer.then((ended) => {
    status = ended.status;
  });
  await until(() => {
    most = Math.max(most, residentMb());
    return status;
  }, 'the push ended');
  truncateSync(gguf, bytes);
  assert.is(status, 200);
  assert.ok(most - before < 120, `grew from ${before} to ${most} MB`);
  hub.repositories.delete('alice/large');
  hub.storage.objects.clear();
});

test('a push that the service was killed in is taken up where it was', async () => {
  hub.faults.push({ match: /POST .*commit/, how: { hang: true }, times: 1 });
  forget();
  const cut = push('alice/killed').catch(() => null);
  await until(() => asked(/^POST .*commit/), 'all was uploaded');
  await service.end('SIGKILL');
  await cut;
  hub.faults.length = 0;
  assert.is(uploads(), 2);
  service = await startService({ dataDir, limits, env: environment() });
  forget();
  const { status, body } = await push('alice/killed');
  assert.is(status, 200, JSON.stringify(body));
  assert.is(uploads(), 0, 'the large files were there');
});

test('without a token a push is 403 and says what to set; without a network 502', async () => {
  await service.end();
  service = await startService({ dataDir, limits, env: { ...environment(), HUB_TOKEN: '' } });
  forget();
  const { status, body } = await push('alice/untold');
  assert.is(status, 403);
  assert.match(body.detail, /under Settings, or as HUB_TOKEN/);
  await service.end();
  service = await startService({ dataDir, limits, env: { ...environment(), HF_HUB_OFFLINE: '1' } });
  const offline = await push('alice/untold');
  assert.is(offline.status, 502);
  assert.match(offline.body.detail, /HF_HUB_OFFLINE/);
  assert.equal(hub.seen, []);
});

test('a token is set while the service runs, once the hub accepts it, and is kept for its user alone', async () => {
  const put = (text: unknown) => service.call('PUT', '/api/hub/token', { token: text });
  const kept = join(dataDir, 'hub-token');
  assert.is((await put('hf_other')).status, 409, 'the environment comes first');
  await service.end();
  service = await startService({ dataDir, limits, env: { ...environment(), HUB_TOKEN: '' } });
  for (const text of ['', '  ', 'two words', 'línea', 'x'.repeat(513), null])
    assert.is((await put(text)).status, 400, String(text));
  const unknown = await put('hf_unknown');
  assert.is(unknown.status, 400);
  assert.match(unknown.body.detail, /does not accept this token/);
  assert.not.match(JSON.stringify(unknown.body), 'hf_unknown');
  assert.not.ok(existsSync(kept));
  const set = await put(` ${token}\n`);
  assert.equal([set.status, set.body.name, set.body.token_from], [200, 'alice', 'settings']);
  assert.is(statSync(kept).mode & 0o777, 0o600);
  assert.is((await push('alice/told')).status, 200, 'the next push has it');
  assert.is((await put('hf_unknown')).status, 400);
  await service.end();
  service = await startService({ dataDir, limits, env: { ...environment(), HUB_TOKEN: '' } });
  assert.is((await service.call('GET', '/api/hub/account')).body.token_from, 'settings', 'after a restart');
  const removed = await service.call('DELETE', '/api/hub/token');
  assert.equal([removed.status, removed.body.name, removed.body.token_from], [200, null, null]);
  assert.not.ok(existsSync(kept));
  assert.is((await push('alice/told')).status, 403);
  await service.end();
  service = await startService({ dataDir, limits, env: { ...environment(), HF_HUB_OFFLINE: '1' } });
});

test('without a network a model of the cache is trained again', async () => {
  forget();
  await service.call('POST', '/api/finetune/reset_status');
  const valid = await service.call('POST', '/api/finetune/validate_model', { selected_model: 'alice/tiny' });
  assert.is(valid.status, 200, JSON.stringify(valid.body));
  const start = await service.call(
    'POST',
    '/api/start_training',
    quickRequest({ model_name: 'alice/tiny', max_steps: 1, export: 'none' }),
  );
  assert.is(start.status, 200, JSON.stringify(start.body));
  const status = await untilEnded(service);
  assert.is(status.status, 'completed', JSON.stringify(status));
  assert.equal(hub.seen, []);
});

test.run();
