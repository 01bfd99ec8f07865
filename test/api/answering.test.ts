/** Requests to models through `/v1`: what they are told, and what `/metrics` and the page's figures count. */
import { readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { childrenOf } from '../children.ts';
import { endAll, type Json, startService, type TestService, temporaryFolder, until } from '../service.ts';
import { type StoredModel, storeModel } from '../stored-model.ts';

let service: TestService;
let model: StoredModel;
/** An answer that takes longer than what the test does meanwhile. */
const endless = 4000;

test.before(async () => {
  const dataDir = temporaryFolder();
  model = storeModel(dataDir, 'a "quoted" name', undefined, { context: 8192, layers: 6 });
  service = await startService({
    dataDir,
    args: ['--trusted-proxy', '127.0.0.1', '--access', 'open'],
  });
});
test.after(endAll);

const ask = (prompt: string, maxTokens: number) =>
  service.call('POST', '/v1/completions', {
    ...{ model: model.modelId, prompt, max_tokens: maxTokens, temperature: 0 },
  });
const figures = async (): Promise<Json> => (await service.call('GET', '/api/playground/figures')).body;
const running = (count: number) =>
  until(async () => (await figures()).running === count, `${count} requests run`, 300_000);

/** The samples of `/metrics` by name and labels. */
async function samples(): Promise<Map<string, number>> {
  const { body } = await service.call('GET', '/metrics');
  const found = new Map<string, number>();
  for (const line of String(body).trim().split('\n')) {
    if (line.startsWith('#')) {
      assert.match(line, /^# (HELP [a-z_:]+ \S|TYPE [a-z_:]+ (counter|gauge|histogram)$)/);
      continue;
    }
    const parts = /^([a-z_:]+(?:\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+\})?) (\S+)$/.exec(line);
    assert.ok(parts, line);
    found.set(parts[1] as string, Number(parts[2]));
  }
  return found;
}

test('figures count requests, their tokens and times, and the memory of models', async () => {
  const before = await samples();
  assert.is(before.get('hone_time_to_first_token_seconds_count'), 0);
  assert.is(before.get('hone_answers_running'), 0);
  assert.not.ok([...before.keys()].some((name) => name.startsWith('hone_answers_total')));
  assert.equal((await figures()).processes, []);

  const first = (await ask('Question a of many', 12)).body.usage;
  const second = (await ask('Question a of many', 12)).body.usage;
  assert.is((await ask('x'.repeat(9000), 1)).status, 400);
  const after = await samples();
  const name = 'model="a \\"quoted\\" name"';
  assert.is(after.get(`hone_answers_total{${name},result="length"}`), 2);
  assert.is(after.get(`hone_answers_total{${name},result="failed"}`), 1);
  const prompt = first.prompt_tokens + second.prompt_tokens;
  assert.is(after.get(`hone_prompt_tokens_total{${name}}`), prompt);
  const cached = second.prompt_tokens_details.cached_tokens;
  assert.is(after.get(`hone_prompt_tokens_cached_total{${name}}`), cached);
  assert.is(cached, second.prompt_tokens - 1);
  assert.is(after.get(`hone_answer_tokens_total{${name}}`), 24);
  assert.ok((after.get(`hone_answer_tokens_guessed_total{${name}}`) ?? -1) >= 0);
  assert.ok((after.get('hone_answer_tokens_per_second') ?? 0) > 0);
  assert.ok((after.get(`hone_model_memory_bytes{${name}}`) ?? 0) > 1e6);

  const seconds = 'hone_time_to_first_token_seconds';
  const buckets = [...after].filter(([key]) => key.startsWith(`${seconds}_bucket`)).map(([, count]) => count);
  assert.equal(
    buckets,
    [...buckets].sort((one, other) => one - other),
    'buckets are cumulative',
  );
  assert.is(after.get(`${seconds}_bucket{le="+Inf"}`), 2);
  assert.is(after.get(`${seconds}_count`), 2);
  assert.ok((after.get(`${seconds}_sum`) ?? 0) > 0);

  const told = await figures();
  assert.is(told.ended, 3);
  assert.is(told.failed, 1);
  assert.is(told.generated_tokens, 24);
  assert.is(told.cached_tokens, cached);
  assert.ok(told.first_token_ms > 0 && told.tokens_per_second > 0);
  const [{ models, memory_bytes: memory }] = told.processes;
  assert.equal(models, ['a "quoted" name']);
  assert.ok(memory > 1e6);
});

test('a process killed in the middle of eight answers fails each of them clearly, and the next one works', async () => {
  const asked = Array.from({ length: 10 }, (_, index) => ask(`Question ${index}`, endless));
  await running(8);
  assert.is((await figures()).waiting, 2);
  const [child] = childrenOf(service.process.pid, 'inference-worker.js') as [number];
  if (platform() === 'linux')
    assert.match(
      readFileSync(`/proc/${child}/maps`, 'utf8'),
      /thread-placement\.so/,
      'its threads are placed',
    );
  process.kill(child, 'SIGKILL');
  for (const { status, body } of await Promise.all(asked)) {
    assert.is(status, 503);
    assert.match(body.error.message, 'ended by signal SIGKILL. The next request starts a new one.');
  }
  const next = await ask('after', 3);
  assert.is(next.status, 200);
  assert.is(next.body.usage.completion_tokens, 3);
  assert.is((await figures()).running, 0);
});

/** A request from a client behind a proxy. */
function askAs(client: string, prompt: string, maxTokens: number) {
  const stop = new AbortController();
  const body = JSON.stringify({ model: model.modelId, prompt, max_tokens: maxTokens, temperature: 0 });
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': client };
  const answered = fetch(`${service.url}/v1/completions`, {
    ...{ method: 'POST', headers, body, signal: stop.signal },
  }).then(
    ({ status }) => status,
    () => null,
  );
  return { answered, leave: () => stop.abort() };
}

test('a caller with many requests does not keep another waiting', async () => {
  const order: string[] = [];
  const many = Array.from({ length: 8 }, (_, index) => askAs('192.0.2.1', `Long ${index}`, endless));
  await running(8);
  const short: Promise<void>[] = [];
  for (const client of ['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2']) {
    const { answered } = askAs(client, `Short ${short.length}`, 1);
    short.push(
      answered.then((status) => {
        assert.is(status, 200);
        order.push(client);
      }),
    );
    await until(async () => (await figures()).waiting === short.length, `${short.length} wait`, 300_000);
  }
  many[0]?.leave();
  await Promise.all(short);
  assert.is(order[0], '192.0.2.2');
  for (const { leave } of many) leave();
  await running(0);
});

test('a model is not deleted while it answers, in the words of each set', async () => {
  const { answered, leave } = askAs('192.0.2.1', 'Long', endless);
  await running(1);
  const remove = (path: string) => service.call('DELETE', path);
  for (const [path, status] of [
    [`/api/models/${model.id}`, 409],
    [`/api/models/${model.modelId}`, 409],
    // OpenAI's libraries would repeat the request after a 409.
    [`/v1/models/${model.modelId}`, 400],
  ] as const) {
    const refused = await remove(path);
    assert.is(refused.status, status, JSON.stringify(refused.body));
    assert.match(JSON.stringify(refused.body), 'is generating text in the playground. Wait until it has');
  }
  leave();
  await answered;
  await running(0);
  assert.is((await remove(`/v1/models/${model.modelId}`)).status, 200);
});

test.run();
