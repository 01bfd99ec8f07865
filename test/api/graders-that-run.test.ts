/** Graders in Python and judges, as the service runs them, and who may define them. */
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runHone } from '../cli/run-hone.ts';
import { endAll, type Json, startService, type TestService } from '../service.ts';

let service: TestService;
test.before(async () => {
  service = await startService();
});
test.after(endAll);

/** Graders in Python are enclosed on Linux alone. */
const onLinux = process.platform === 'linux' ? test : test.skip;
const key = 'sk-secret-of-the-judge';
const python = (source: string) => ({ type: 'python', name: 'python', source });
const equals = python("def grade(sample, item):\n    return float(sample['output_text'] == item['output'])");
const judge = (base_url: string) => ({
  ...{ type: 'score_model', name: 'judge', model: 'judge-1', base_url },
  input: [{ role: 'user', content: 'Rate {{sample.output_text}}.' }],
});
const tried = (grader: unknown, ...answers: string[]) =>
  service.call('POST', '/api/graders/test', {
    grader,
    rows: answers.map((answer) => ({ item: { output: 'yes' }, answer })),
  });

onLinux('Python scores answers', async () => {
  const { status, body } = await tried(equals, 'yes', 'no');
  assert.is(status, 200, JSON.stringify(body));
  assert.equal(
    body.results.map(({ value, error }: Json) => [value, error]),
    [
      [1, null],
      [0, null],
    ],
  );
});

onLinux('a source that does not compile is refused with its line', async () => {
  const { status, body } = await service.call('POST', '/api/graders', python('def grade(sample, item)\n  1'));
  assert.is(status, 400);
  assert.match(body.detail, "line 1: SyntaxError: expected ':'");
});

onLinux('Python that reads a file is an error of its row', async () => {
  const path = JSON.stringify(join(service.dataDir, 'service.json'));
  const reads = python(`def grade(sample, item):\n    return len(open(${path}).read())`);
  const { body } = await tried(reads, 'yes');
  assert.is(body.results[0].value, 0);
  assert.match(body.results[0].error, 'line 2: PermissionError');
});

onLinux('clients on other machines may not define graders in Python or of another server', async () => {
  const { body: made } = await service.call('POST', '/api/keys', { name: 'elsewhere' });
  const elsewhere = async (method: string, path: string, body: unknown) => {
    const headers = {
      authorization: `Bearer ${made.key}`,
      'x-forwarded-for': '192.0.2.1',
      connection: 'close',
    };
    const init = {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    };
    return (await fetch(service.url + path, init)).status;
  };
  const rows = [{ item: { output: 'yes' }, answer: 'yes' }];
  const multi = { type: 'multi', name: 'multi', graders: { a: equals }, calculate_output: 'a' };
  for (const grader of [equals, multi, judge('http://192.0.2.1/v1')]) {
    assert.is(await elsewhere('POST', '/api/graders', grader), 403);
    assert.is(await elsewhere('POST', '/api/graders/test', { grader, rows }), 403);
    assert.is(await elsewhere('PUT', `/api/graders/${grader.name}`, grader), 403);
    assert.is(await elsewhere('POST', '/v1/fine_tuning/alpha/graders/validate', { grader }), 403);
    const run = { grader, item: { output: 'yes' }, model_sample: 'yes' };
    assert.is(await elsewhere('POST', '/v1/fine_tuning/alpha/graders/run', run), 403);
    const method = { type: 'reinforcement', reinforcement: { grader } };
    const job = { model: 'owner/name', training_file: 'file-1', method };
    assert.is(await elsewhere('POST', '/v1/fine_tuning/jobs', job), 403);
    const data_source_config = { type: 'custom', item_schema: {} };
    const evaluation = { data_source_config, testing_criteria: [grader] };
    assert.is(await elsewhere('POST', '/v1/evals', evaluation), 403);
  }
  // Nor run an eval that was created here.
  const { body: evaluation } = await service.call('POST', '/v1/evals', {
    data_source_config: { type: 'custom', item_schema: {} },
    testing_criteria: [equals],
  });
  const source = { type: 'file_content', content: [{ item: {}, sample: { output_text: 'x' } }] };
  const data_source = { type: 'jsonl', source };
  assert.is(await elsewhere('POST', `/v1/evals/${evaluation.id}/runs`, { data_source }), 403);
  assert.is((await service.call('POST', '/api/graders', equals)).status, 200);
  assert.is(await elsewhere('POST', '/api/graders/test', { grader: 'python', rows }), 200);
});

const keyOf = (url: unknown, text: unknown = key) =>
  service.call('PUT', '/api/judge_keys', { url, key: text });
const kept = () => readFileSync(join(service.dataDir, 'judge-keys.json'), 'utf8');

test('keys of judges are kept for their user alone, listed by URL, never told, and deleted', async () => {
  assert.equal((await service.call('GET', '/api/judge_keys')).body, { urls: [] });
  for (const url of [
    '',
    'here',
    'ftp://a.example',
    'https://me@a.example/v1',
    'https://a.example/v1?a=b',
    null,
  ])
    assert.is((await keyOf(url)).status, 400, String(url));
  for (const text of ['', ' ', 'two words', 'línea', 'x'.repeat(4097), null]) {
    const refused = await keyOf('https://a.example/v1', text);
    assert.is(refused.status, 400, String(text));
    if (text?.trim()) assert.not.match(JSON.stringify(refused.body), text);
  }
  const set = await keyOf(' https://a.example/v1/ ', ` ${key}\n`);
  assert.equal([set.status, set.body], [200, { urls: ['https://a.example/v1'] }]);
  assert.equal((await keyOf('https://b.example/v1', 'sk-other')).body.urls.length, 2);
  assert.equal(JSON.parse(kept()), { 'https://a.example/v1': key, 'https://b.example/v1': 'sk-other' });
  if (process.platform !== 'win32')
    assert.is(statSync(join(service.dataDir, 'judge-keys.json')).mode & 0o777, 0o600);
  const { body } = await service.call('GET', '/api/judge_keys');
  assert.equal(body, { urls: ['https://a.example/v1', 'https://b.example/v1'] });
  const remove = (url: string) => service.call('DELETE', `/api/judge_keys?url=${encodeURIComponent(url)}`);
  assert.equal((await remove('https://a.example/v1/')).body, { urls: ['https://b.example/v1'] });
  assert.is((await remove('https://a.example/v1')).status, 404);
  assert.not.match(kept(), key);
  await remove('https://b.example/v1');
  assert.not.match(JSON.stringify(service.log), key);
});

test('the command keeps, lists and removes keys of judges', async () => {
  const hone = (input: string, ...args: string[]) =>
    runHone(['judge-key', ...args], {
      cwd: service.dataDir,
      env: { SERVICE_DATA_DIR: service.dataDir },
      input,
    });
  const added = await hone(`${key}\n`, 'add', 'https://c.example/v1/');
  assert.equal([added.code, added.out], [0, ''], added.errors);
  assert.not.match(added.errors, key);
  assert.equal((await service.call('GET', '/api/judge_keys')).body, { urls: ['https://c.example/v1'] });
  assert.is((await hone('', 'list')).out, 'https://c.example/v1\n');
  const wrong = await hone('', 'add', 'https://c.example/v1');
  assert.equal([wrong.code, wrong.errors], [1, 'hone: No key: type it, or pipe it in.\n']);
  assert.match((await hone('', 'dance')).errors, /hone judge-key add URL/);
  assert.is((await hone('', 'remove', 'https://c.example/v1')).code, 0);
  assert.equal((await service.call('GET', '/api/judge_keys')).body, { urls: [] });
});

test('a key goes to no other origin: not by a redirect, and not to another port or path', async () => {
  const seen: [place: string, key: string | undefined][] = [];
  const listen = async (place: string, location?: () => string) => {
    const server = createServer((request, response) => {
      seen.push([place, request.headers.authorization]);
      if (location) response.writeHead(307, { location: location() });
      request.resume().once('end', () => response.end('{}'));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  };
  const other = await listen('other');
  const first = await listen('first', () => `${other.url}/v1/models`);
  try {
    await keyOf(`${first.url}/v1`);
    const redirected = await tried(judge(`${first.url}/v1`), 'yes');
    assert.match(JSON.stringify(redirected.body), 'answered 307');
    assert.ok(
      seen.every(([place, told]) => place === 'first' && told === `Bearer ${key}`),
      JSON.stringify(seen),
    );
    seen.length = 0;
    await tried(judge(`${other.url}/v1`), 'yes');
    await tried(judge(`${first.url}/v2`), 'yes');
    assert.ok(seen.length >= 2 && seen.every(([, told]) => told === undefined), JSON.stringify(seen));
  } finally {
    other.server.close();
    first.server.close();
  }
});

test('a judge is asked with the key of its URL, which no log and no answer has', async () => {
  const keys = new Set<string | undefined>();
  const server = createServer((request, response) => {
    keys.add(request.headers.authorization);
    const content = JSON.stringify({ reasoning: 'close', result: 0.5 });
    const body =
      request.method === 'GET' ? { data: [{ id: 'judge-1' }] } : { choices: [{ message: { content } }] };
    request.resume().once('end', () => response.end(JSON.stringify(body)));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  assert.is((await keyOf(`${url}/`)).status, 200);
  const { status, body } = await tried(judge(url), 'yes');
  server.close();
  assert.is(status, 200, JSON.stringify(body));
  assert.equal([body.results[0].value, body.results[0].explanation], [0.5, 'close']);
  assert.equal([...keys], [`Bearer ${key}`]);
  assert.not.match(JSON.stringify([service.log, body]), key);
  const gone = await service.call('POST', '/api/graders', judge(url));
  assert.is(gone.status, 400);
  assert.match(gone.body.detail, `${url} cannot be reached`);
});

test.run();
