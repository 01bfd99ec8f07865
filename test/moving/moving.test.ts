import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, type Json, startService, type TestService, tinyModel, until } from '../service.ts';
import { addFile, addJob, type OtherSide, refuse, startOtherSide } from './other-side.ts';

const key = 'sk-canary-0123456789-moving-abcdefghij';
const path = '/api/move/openai';
const chats = (count: number, word: string) =>
  Array.from({ length: count }, (_, index) =>
    JSON.stringify({
      messages: [
        { role: 'system', content: 'You are a support team.' },
        { role: 'user', content: `Where is parcel ${index} (${word})?` },
        { role: 'assistant', content: `It is on its way, number ${index}.` },
      ],
    }),
  ).join('\n');

let side: OtherSide;
let service: TestService;
let errors = '';

const ended = () =>
  until(async () => {
    const { body } = await service.call('GET', path);
    return body.state === 'listing' || body.state === 'downloading' ? null : body;
  }, 'the move ended') as Promise<Json>;
const move = async (more: object = {}): Promise<Json> => {
  const started = await service.call('POST', path, { api_key: key, ...more });
  assert.is(started.status, 200, JSON.stringify(started.body));
  return ended();
};
const contents = () => side.arrived.map((one) => one.path).filter((one) => one.endsWith('/content'));
/** Without result files, which most jobs here only name. */
const downloads = () => contents().filter((one) => !one.includes('file-results'));
const fileOf = (state: Json, id: string) => state.files.find((file: Json) => file.id === id);

test.before(async () => {
  side = await startOtherSide(key);
  addFile(side, 'file-train', 'chats.jsonl', chats(20, 'training'));
  addFile(side, 'file-valid', 'chats.jsonl', chats(12, 'validation'));
  addFile(side, 'file-other', 'other', chats(11, 'other'));
  addJob(side, 'ftjob-1', { validation_file: 'file-valid' });
  addJob(side, 'ftjob-2', { training_file: 'file-gone', method: null, fine_tuned_model: null });
  addJob(side, 'ftjob-3', { method: { type: 'later' } });
  addJob(side, 'ftjob-4', {
    status: 'failed',
    hyperparameters: { n_epochs: 'auto', batch_size: 'auto', learning_rate_multiplier: 'auto' },
    method: null,
    seed: 2 ** 32 + 5,
  });
  side.checkpoints.set('ftjob-1', [
    { id: 'ftckpt-2', step_number: 10, metrics: { train_loss: 0.5, valid_loss: 0.6 } },
    { id: 'ftckpt-3', step_number: 15, metrics: { train_loss: 0.4, valid_loss: 0.55, other: null } },
    { id: 'ftckpt-1', step_number: 5, metrics: { train_loss: 0.9 } },
  ]);
  service = await startService({
    env: { OPENAI_BASE_URL: `${side.url}/v1/` },
    limits: { moveWaitMs: 5000, hubTimeoutMs: 60_000 },
    args: ['--log-level', 'debug'],
  });
  service.process.stderr?.on('data', (chunk) => {
    errors += chunk;
  });
});
test.after(async () => {
  await endAll();
  await side.close();
});

test('before the first move there is nothing', async () => {
  const { status, body } = await service.call('GET', path);
  assert.is(status, 200);
  assert.equal([body.state, body.files, body.jobs, body.error], ['idle', [], [], null]);
});

test('jobs and files are listed over all pages, and nothing is downloaded', async () => {
  const { status, body } = await service.call('POST', `${path}/list`, { api_key: ` ${key}\n` });
  assert.is(status, 200);
  assert.is(body.state, 'completed');
  assert.equal(body.files.map(({ id }: Json) => id).sort(), [
    'file-gone',
    'file-other',
    'file-train',
    'file-valid',
  ]);
  assert.equal(
    body.jobs.map(({ id }: Json) => id),
    ['ftjob-1', 'ftjob-2', 'ftjob-3', 'ftjob-4'],
  );
  assert.is(fileOf(body, 'file-train').state, 'listed');
  const [job] = body.jobs;
  assert.equal(job.hyperparameters, { n_epochs: 3, batch_size: 4, learning_rate_multiplier: 2 });
  assert.equal([job.method, job.seed, job.suffix], ['supervised', 7, 'support']);
  assert.equal(job.metrics, { train_loss: 0.4, valid_loss: 0.55 }, 'of the last checkpoint');
  assert.is(job.proposal, null);
  assert.match(job.problem, /not here yet/);
  assert.equal(downloads(), []);
});

test('chosen files are downloaded, then what is missing, each once', async () => {
  const first = await move({ files: ['file-other'] });
  assert.is(first.state, 'completed');
  assert.equal(downloads(), ['/v1/files/file-other/content']);
  assert.is(fileOf(first, 'file-other').dataset, 'other.jsonl');
  const second = await move();
  assert.equal(second.progress.files_done, second.progress.files_total);
  assert.equal(second.progress.bytes_done, second.progress.bytes_total);
  assert.equal(downloads().sort(), [
    '/v1/files/file-other/content',
    '/v1/files/file-train/content',
    '/v1/files/file-valid/content',
  ]);
  // Two files of one name are two datasets.
  assert.is(fileOf(second, 'file-train').dataset, 'chats.jsonl');
  assert.is(fileOf(second, 'file-valid').dataset, 'chats-2.jsonl');
  const stored = readFileSync(join(service.dataDir, 'datasets', 'chats.jsonl'), 'utf8');
  assert.is(stored, chats(20, 'training'));
  await move();
  assert.is(downloads().length, 3, 'nothing again');
  assert.is((await service.call('GET', '/api/datasets/other.jsonl')).body.validation.shape, 'messages');
});

test('a file that is gone is told, and the rest went on', async () => {
  const { body } = await service.call('GET', path);
  assert.is(fileOf(body, 'file-gone').state, 'unavailable');
  assert.match(fileOf(body, 'file-gone').problem, /deleted or has expired/);
  assert.match(body.jobs[1].problem, /deleted or has expired/);
});

test('the equal job is proposed, and can be started', async () => {
  const { body } = await service.call('GET', path);
  const [first, , later, auto] = body.jobs;
  const { request, notes } = first.proposal;
  const recommended = (await service.call('GET', '/api/finetune/load_settings')).body;
  const models = (await service.call('GET', '/api/finetune/recommended_models/text-generation')).body;
  assert.equal(
    { ...request, per_device_train_batch_size: 0, gradient_accumulation_steps: 0 },
    {
      task: 'text-generation',
      model_name: models.recommended_model,
      dataset: 'chats.jsonl',
      validation_dataset: 'chats-2.jsonl',
      strategy: 'sft',
      num_train_epochs: 3,
      per_device_train_batch_size: 0,
      gradient_accumulation_steps: 0,
      learning_rate: recommended.learning_rate * 2,
      seed: 7,
      queue: true,
      save_steps: 5,
      save_total_limit: 3,
    },
  );
  assert.is(request.per_device_train_batch_size * request.gradient_accumulation_steps, 4);
  assert.match(notes.join(' '), /gpt-4\.1-mini.* cannot be downloaded.*learning_rate_multiplier 2/);
  assert.is(later.proposal, null);
  assert.match(later.problem, /the method "later"/);
  assert.is(auto.proposal.request.seed, 5);
  assert.is('num_train_epochs' in auto.proposal.request, false);
  const here = { ...request, model_name: tinyModel('qwen3', 'chatml') };
  const started = await service.call('POST', '/api/start_training', here);
  assert.is(started.status, 200, JSON.stringify(started.body));
  await service.call('POST', '/api/jobs/train_1/stop', { discard: true });
});

test("rows in OpenAI's preference format are converted, and what cannot be is told", async () => {
  const user = { role: 'user', content: 'Where is my parcel?' };
  const answer = (content: string) => [{ role: 'assistant', content }];
  const pair = (index: number) => ({
    input: { messages: [user], tools: [], parallel_tool_calls: true },
    preferred_output: answer(`It is on its way, number ${index}.`),
    non_preferred_output: answer('No idea.'),
  });
  const call = (args: string) => ({
    ...{ id: 'call_1', type: 'function', function: { name: 'find', arguments: args } },
  });
  const lines = (rows: unknown[]) => rows.map((row) => JSON.stringify(row)).join('\n');
  addFile(side, 'file-pairs', 'pairs.jsonl', lines(Array.from({ length: 12 }, (_, index) => pair(index))));
  const withCall = (args: string) => ({
    messages: [user, { role: 'assistant', content: null, tool_calls: [call(args)] }],
  });
  addFile(side, 'file-tools', 'tools.jsonl', lines(Array(12).fill(withCall('{}'))));
  addFile(side, 'file-broken', 'broken.jsonl', lines(Array(12).fill(withCall('order 482'))));
  const hyperparameters = { n_epochs: 1, batch_size: 2, learning_rate_multiplier: 0.5, beta: 0.2 };
  addJob(side, 'ftjob-5', { training_file: 'file-pairs', method: { type: 'dpo', dpo: { hyperparameters } } });
  const state = await move();
  assert.is(state.state, 'completed');
  assert.is(fileOf(state, 'file-pairs').dataset, 'pairs-converted.jsonl');
  const { validation } = (await service.call('GET', '/api/datasets/pairs-converted.jsonl')).body;
  assert.equal([validation.valid, validation.shape], [true, 'preference']);
  const { request } = state.jobs.find(({ id }: Json) => id === 'ftjob-5').proposal;
  assert.equal([request.strategy, request.dataset, request.beta], ['dpo', 'pairs-converted.jsonl', 0.2]);
  assert.equal(
    [fileOf(state, 'file-tools').dataset, fileOf(state, 'file-tools').problem],
    ['tools.jsonl', null],
  );
  assert.is(fileOf(state, 'file-broken').state, 'stored');
  assert.match(fileOf(state, 'file-broken').problem, /Line 1: .*no JSON object/);
});

test('a reinforcement job is proposed with its grader, and can be started', async () => {
  const rows = Array.from({ length: 12 }, (_, at) =>
    JSON.stringify({
      messages: [{ role: 'user', content: `What is ${at} and ${at}?` }],
      answer: `${2 * at}`,
    }),
  );
  addFile(side, 'file-prompts', 'prompts.jsonl', rows.join('\n'));
  const exact = {
    ...{ type: 'string_check', name: 'Is it right?', operation: 'eq' },
    ...{ input: '{{sample.output_text}}', reference: '{{item.answer}}' },
  };
  const judge = {
    type: 'score_model',
    name: 'judge',
    model: 'o3',
    input: [{ role: 'user', content: 'Rate.' }],
  };
  const response_format = {
    type: 'json_schema',
    json_schema: { name: 'number', schema: { type: 'integer' } },
  };
  const add = (id: string, grader: object, format: object | null = null) =>
    addJob(side, id, {
      training_file: 'file-prompts',
      ...{ hyperparameters: null, validation_file: null },
      method: {
        type: 'reinforcement',
        reinforcement: {
          grader,
          response_format: format,
          hyperparameters: { n_epochs: 2, batch_size: 4, reasoning_effort: 'medium', eval_interval: 5 },
        },
      },
    });
  add('ftjob-exact', exact, response_format);
  add('ftjob-judge', { ...judge, range: null, sampling_params: null }, { type: 'text' });
  add('ftjob-odd', { type: 'endpoint', url: 'https://example.com' });
  const state = await move();
  assert.is(state.state, 'completed');
  const jobOf = (id: string) => state.jobs.find((job: Json) => job.id === id);
  assert.equal(jobOf('ftjob-exact').grader, exact);
  const { request } = jobOf('ftjob-exact').proposal;
  assert.equal(
    [request.strategy, request.num_train_epochs, request.graders, request.response_format],
    ['grpo', 2, [{ grader: exact }], response_format],
  );
  const here = { ...request, model_name: tinyModel('qwen3', 'chatml') };
  const started = await service.call('POST', '/api/start_training', here);
  assert.is(started.status, 200, JSON.stringify(started.body));
  await service.call('POST', `/api/jobs/train_2/stop`, { discard: true });
  assert.match(
    jobOf('ftjob-judge').proposal.notes.join(' '),
    /grader asks o3: write a model of this service.* response_format cannot be used here/,
  );
  assert.match(jobOf('ftjob-odd').problem, /Its grader cannot be used here: type/);
});

test('evals are moved with the results of their runs', async () => {
  const exact = { type: 'string_check', name: 'right', operation: 'eq' };
  const criterion = { ...exact, input: '{{sample.output_text}}', reference: '{{item.answer}}' };
  side.evals.push(
    {
      ...{ object: 'eval', id: 'eval_1', created_at: 1_772_442_900, name: 'Answers', metadata: null },
      data_source_config: { type: 'custom', schema: { type: 'object', properties: { item: {} } } },
      testing_criteria: [{ ...criterion, id: 'right-1', pass_threshold: null }],
      shared_with_openai: false,
    },
    ...[2, 3].map((at) => ({
      ...{ object: 'eval', id: `eval_${at}`, created_at: 1_772_442_900 + at, name: `${at}` },
      data_source_config: { type: 'logs', schema: {} },
      testing_criteria: [],
    })),
  );
  const usage = { prompt_tokens: 3, completion_tokens: 1, cached_tokens: 0, total_tokens: 4 };
  const run = (id: string, status: string) => ({
    ...{ object: 'eval.run', id, eval_id: 'eval_1', created_at: 1_772_443_000, name: 'first', status },
    ...{ model: 'gpt-4.1', error: null, metadata: { team: 'a' }, report_url: 'https://example.com/report' },
    data_source: { type: 'completions', model: 'gpt-4.1', source: { type: 'file_id', id: 'file-x' } },
    result_counts: { total: 3, passed: 2, failed: 1, errored: 0 },
    per_testing_criteria_results: [{ testing_criteria: 'right-1', passed: 2, failed: 1 }],
    per_model_usage: [{ model_name: 'gpt-4.1', invocation_count: 3, ...usage }],
  });
  side.below.set('eval_1', [run('evalrun_1', 'completed'), run('evalrun_2', 'in_progress')]);
  const items = [0, 1, 2].map((at) => ({
    ...{
      object: 'eval.run.output_item',
      id: `outputitem_${at}`,
      created_at: 1_772_443_100,
      run_id: 'evalrun_1',
    },
    ...{ eval_id: 'eval_1', status: at === 2 ? 'fail' : 'pass', datasource_item_id: at },
    datasource_item: { answer: `${at}` },
    results: [{ name: 'right-1', sample: null, passed: at < 2, score: at < 2 ? 1 : 0 }],
    sample: {
      ...{ model: 'gpt-4.1', finish_reason: 'stop', seed: 42, temperature: 1, top_p: 1, error: null, usage },
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
      output: [{ role: 'assistant', content: `${at}` }],
      max_completion_tokens: 2048,
    },
  }));
  side.below.set('evalrun_1', items);
  const listed = (await service.call('POST', `${path}/list`, { api_key: key })).body.evals;
  assert.equal(
    listed.map(({ id, name, state, runs }: Json) => [id, name, state, runs]),
    [
      ['eval_1', 'Answers', 'listed', 0],
      ['eval_2', '2', 'listed', 0],
      ['eval_3', '3', 'listed', 0],
    ],
  );
  const { evals, state } = await move();
  assert.is(state, 'completed');
  assert.equal([evals[0].state, evals[0].runs, evals[2].state], ['stored', 1, 'stored']);
  assert.match(evals[0].problem, /1 runs that have not ended/);
  const { body: kept } = await service.call('GET', '/v1/evals/eval_1');
  assert.equal([kept.name, kept.testing_criteria], ['Answers', [criterion]]);
  const { data: runs } = (await service.call('GET', '/v1/evals/eval_1/runs')).body;
  assert.equal(
    runs.map(({ id, status, result_counts, model }: Json) => [id, status, result_counts.passed, model]),
    [['evalrun_1', 'completed', 2, 'gpt-4.1']],
  );
  const { data } = (await service.call('GET', '/v1/evals/eval_1/runs/evalrun_1/output_items')).body;
  assert.equal(data.length, 3);
  assert.equal(data[0].sample.input, [{ role: 'user', content: '[{"type":"input_text","text":"Hi"}]' }]);
  assert.equal(data[2], { ...items[2], sample: { ...items[2]?.sample, input: data[0].sample.input } });
  // It runs here, too, also after a second move, which asks for no item again.
  const asked = () => side.arrived.filter((one) => one.path.endsWith('/output_items')).length;
  const before = asked();
  side.below.set('eval_1', [run('evalrun_1', 'completed'), run('evalrun_2', 'completed')]);
  await move();
  assert.is(asked() - before, 1, 'of the run that had not ended');
  const content = [{ item: { answer: 'x' }, sample: { output_text: 'x' } }];
  const data_source = { type: 'jsonl', source: { type: 'file_content', content } };
  const { body: own } = await service.call('POST', '/v1/evals/eval_1/runs', { data_source });
  const done = await until(async () => {
    const { body } = await service.call('GET', `/v1/evals/eval_1/runs/${own.id}`);
    return body.status === 'completed' ? body : null;
  }, 'the run ended');
  assert.equal(done.result_counts, { total: 1, passed: 1, failed: 0, errored: 0 });
  // What is deleted here comes again; an account without evals keeps what is here.
  await service.call('DELETE', '/v1/evals/eval_1');
  assert.is((await move()).evals[0].runs, 2);
  side.trouble = (where, response) => {
    if (!where.startsWith('/v1/evals')) return false;
    refuse(response, 403, 'Missing scopes');
    return true;
  };
  const without = await move();
  side.trouble = () => false;
  assert.equal([without.state, without.evals.length], ['completed', 4]);
  assert.match(without.evals[3].problem, /does not let this API key read .*evals/);
  assert.is((await service.call('GET', '/v1/evals/eval_1')).status, 200);
});

test('result files are kept beside the records, once, and give the last figures', async () => {
  const csv = 'step,train_loss,train_accuracy,valid_loss\n1,2.5,0.4,2.25\n2,1.5,0.6,\n';
  for (const [id, content] of [
    ['file-results-plain', csv],
    ['file-results-base64', Buffer.from(csv.replace('1.5', '1.25')).toString('base64')],
  ] as const) {
    addFile(side, id, 'step_metrics.csv', content);
    (side.files.get(id) as { about: Record<string, unknown> }).about.purpose = 'fine-tune-results';
  }
  addJob(side, 'ftjob-6', { result_files: ['file-results-plain'] });
  addJob(side, 'ftjob-7', { result_files: ['file-results-base64', 'file-results'] });
  side.checkpoints.set('ftjob-6', [{ id: 'c', step_number: 2, metrics: { full_valid_loss: 2 } }]);
  const state = await move();
  assert.is(state.state, 'completed');
  const metricsOf = (wanted: string) => state.jobs.find(({ id }: Json) => id === wanted).metrics;
  const last = { train_loss: 1.5, train_accuracy: 0.6, valid_loss: 2.25 };
  assert.equal(metricsOf('ftjob-6'), { full_valid_loss: 2, ...last });
  assert.equal(metricsOf('ftjob-7'), { ...last, train_loss: 1.25 });
  const folder = join(service.dataDir, 'moved', 'results');
  assert.equal(readdirSync(folder).sort(), [
    'ftjob-6.file-results-plain.csv',
    'ftjob-7.file-results-base64.csv',
  ]);
  assert.is(readFileSync(join(folder, 'ftjob-6.file-results-plain.csv'), 'utf8'), csv);
  assert.not(fileOf(state, 'file-results-plain'), 'no dataset is made of them');
  await move();
  const times = (id: string) => contents().filter((one) => one.includes(id)).length;
  assert.equal([times('results-plain'), times('results-base64')], [1, 1]);
});

test('a limited rate is waited for as long as asked, within bounds', async () => {
  let refused = 0;
  let refusedAt = 0;
  let againAt = 0;
  side.trouble = (where, response) => {
    if (where !== '/v1/files') return false;
    if (refused > 0) againAt ||= performance.now();
    if (refused > 0) return false;
    refused += 1;
    refusedAt = performance.now();
    response.setHeader('retry-after', '1');
    refuse(response, 429, 'Rate limit reached');
    return true;
  };
  assert.is((await move()).state, 'completed');
  assert.ok(againAt - refusedAt > 950, 'not earlier than asked');
  side.trouble = (_where, response) => {
    response.setHeader('retry-after', '86400');
    refuse(response, 429, 'Rate limit reached');
    return true;
  };
  const { state, error } = await move();
  assert.equal([state, error.code], ['failed', 'rate_limited']);
  assert.match(error.message, /asks to wait 86400 s/);
});

test('refusals and failures are told plainly, without the key', async () => {
  const cases: [number, string, RegExp][] = [
    [401, 'unauthorized', /does not accept the API key \(401\)/],
    [403, 'forbidden', /does not let this API key read .* \(403\).*Missing scopes/],
    [500, 'upstream', /answered 500/],
  ];
  for (const [status, code, words] of cases) {
    side.trouble = (_where, response, request) => {
      refuse(response, status, `Missing scopes; you sent ${request.headers.authorization}`);
      return true;
    };
    const { state, error } = await move();
    assert.equal([state, error.code], ['failed', code]);
    assert.match(error.message, words);
    assert.not.match(JSON.stringify(error), /canary/);
  }
  side.trouble = (_where, response) => {
    response.end('<html>not an API</html>');
    return true;
  };
  assert.match((await move()).error.message, /did not answer as OpenAI's API does/);
});

test('a redirect is not followed, so the key goes nowhere else', async () => {
  const elsewhere: (string | undefined)[] = [];
  const other = createServer((request, response) => {
    elsewhere.push(request.headers.authorization);
    response.end('{"object": "list", "data": []}');
  });
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  side.trouble = (_where, response) => {
    const { port } = other.address() as AddressInfo;
    response.writeHead(302, { location: `http://localhost:${port}/v1/files` }).end();
    return true;
  };
  const { error } = await move();
  assert.match(error.message, /redirects elsewhere \(302\)/);
  assert.equal(elsewhere, []);
  other.close();
  side.trouble = () => false;
});

test('an interrupted download is repeated, and a wrong size is refused', async () => {
  addFile(side, 'file-cut', 'cut.jsonl', chats(2000, 'cut'));
  let cuts = 0;
  side.trouble = (where, response) => {
    if (where !== '/v1/files/file-cut/content' || cuts > 0) return false;
    cuts += 1;
    const { content } = side.files.get('file-cut') as { content: string };
    response.setHeader('content-length', Buffer.byteLength(content));
    response.write(content.slice(0, 100_000), () => response.destroy());
    return true;
  };
  const again = await move();
  assert.is(again.state, 'completed');
  assert.is(fileOf(again, 'file-cut').state, 'stored');
  assert.is(readFileSync(join(service.dataDir, 'datasets', 'cut.jsonl'), 'utf8'), chats(2000, 'cut'));
  for (const [id, change] of [
    ['file-short', -1],
    ['file-long', 1],
  ] as const) {
    addFile(side, id, `${id}.jsonl`, chats(12, id));
    const { about } = side.files.get(id) as { about: Record<string, unknown> };
    about.bytes = (about.bytes as number) - change;
  }
  side.trouble = () => false;
  const wrong = await move();
  assert.is(wrong.state, 'completed');
  for (const id of ['file-short', 'file-long']) {
    assert.is(fileOf(wrong, id).state, 'unavailable');
    assert.match(fileOf(wrong, id).problem, /arrived/);
    assert.is((await service.call('GET', `/api/datasets/${id}.jsonl`)).status, 404);
    side.files.delete(id);
  }
});

test('a cancelled move stores no part of a file, and the next one brings it', async () => {
  addFile(side, 'file-slow', 'slow.jsonl', chats(3000, 'slow'));
  side.trouble = (where, response) => {
    if (where !== '/v1/files/file-slow/content') return false;
    response.write((side.files.get('file-slow') as { content: string }).content.slice(0, 70_000));
    return true;
  };
  assert.is((await service.call('POST', path, { api_key: key })).status, 200);
  await until(
    async () =>
      (await service.call('GET', path)).body.files.some((file: Json) => file.state === 'downloading'),
    'a download began',
  );
  assert.is((await service.call('POST', path, { api_key: key })).status, 409, 'one at a time');
  const { body } = await service.call('DELETE', path);
  assert.is(body.state, 'cancelled');
  assert.is(fileOf(body, 'file-slow').state, 'listed');
  const inFolder = readdirSync(join(service.dataDir, 'datasets'));
  assert.not(
    inFolder.some((name) => name.includes('slow') || name.endsWith('.partial')),
    inFolder.join(' '),
  );
  side.trouble = () => false;
  assert.is(fileOf(await move(), 'file-slow').dataset, 'slow.jsonl');
});

test('a service that was killed during a download knows what was moved, and brings the rest', async () => {
  addFile(side, 'file-killed', 'killed.jsonl', chats(3000, 'killed'));
  side.trouble = (where, response) => {
    if (where !== '/v1/files/file-killed/content') return false;
    response.write((side.files.get('file-killed') as { content: string }).content.slice(0, 70_000));
    return true;
  };
  assert.is((await service.call('POST', path, { api_key: key })).status, 200);
  await until(() => downloads().at(-1) === '/v1/files/file-killed/content', 'a download began');
  await service.end('SIGKILL');
  side.trouble = () => false;
  const { dataDir } = service;
  service = await startService({ dataDir, env: { OPENAI_BASE_URL: `${side.url}/v1` } });
  const { body } = await service.call('GET', path);
  assert.equal([body.state, fileOf(body, 'file-slow').state], ['idle', 'stored']);
  assert.equal(
    readdirSync(join(dataDir, 'datasets')).filter(
      (name) => name.includes('killed') || name.endsWith('.partial'),
    ),
    [],
  );
  const before = downloads().length;
  assert.is(fileOf(await move(), 'file-killed').state, 'stored');
  assert.equal(downloads().slice(before), ['/v1/files/file-killed/content']);
  const stored = readFileSync(join(dataDir, 'datasets', 'killed.jsonl'), 'utf8');
  assert.is(stored, chats(3000, 'killed'));
});

test('a dataset that was deleted is brought again', async () => {
  const before = downloads().length;
  await service.call('DELETE', '/api/datasets/slow.jsonl');
  assert.is(fileOf(await move(), 'file-slow').state, 'stored');
  assert.equal(downloads().slice(before), ['/v1/files/file-slow/content']);
});

test('a bad request is told without the key', async () => {
  const bad = [
    {},
    { api_key: '' },
    { api_key: '  ' },
    { api_key: `${key} ${key}` },
    { api_key: `${key}\r\nhost: elsewhere` },
    { api_key: [key] },
    { api_key: 'x'.repeat(1025) },
    { api_key: key, unknown: 1 },
    { api_key: key, jobs: 'ftjob-1' },
  ];
  for (const body of bad) {
    for (const where of [path, `${path}/list`]) {
      const answer = await service.call('POST', where, body);
      assert.is(answer.status, 400, JSON.stringify(body));
      assert.not.match(JSON.stringify(answer.body), /canary/);
    }
  }
  assert.is((await service.call('GET', path)).body.state, 'completed', 'and nothing began');
});

test('only GET requests were sent, and the key is in no log, file or argument', () => {
  assert.equal([...new Set(side.arrived.map(({ method }) => method))], ['GET']);
  assert.equal([...new Set(side.arrived.map(({ authorization }) => authorization))], [`Bearer ${key}`]);
  assert.not.match(JSON.stringify(service.log) + errors, /canary/);
  for (const entry of readdirSync(service.dataDir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    assert.not(readFileSync(file).includes('canary'), file);
  }
  if (existsSync('/proc/self/cmdline')) {
    for (const pid of readdirSync('/proc').filter(
      (name) => /^\d+$/.test(name) && Number(name) !== process.pid,
    )) {
      for (const part of ['cmdline', 'environ']) {
        let text = '';
        try {
          text = readFileSync(`/proc/${pid}/${part}`, 'latin1');
        } catch {
          // It has ended, or belongs to another user.
        }
        assert.not(text.includes(key), `${part} of ${pid}`);
      }
    }
  }
});

test.run();
