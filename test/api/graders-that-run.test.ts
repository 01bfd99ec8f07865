/** Graders in Python and judges, as the service runs them, and who may define them. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
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
  writeFileSync(join(service.dataDir, 'judge-keys.json'), JSON.stringify({ [url]: key }), { mode: 0o600 });
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
