/** What the page is offered beyond the specification: examples, choices, recommendations, lineage. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type Answer,
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  tinyModel,
  trainersOf,
  until,
  untilEnded,
} from '../service.ts';
import { type Description, readDescription } from './description.ts';

let service: TestService;
let description: Description;
const cacheHome = temporaryFolder();

async function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  const answer = await service.call(method, path, body);
  description.check(method, path.split('?')[0] as string, answer);
  return answer;
}
async function get(path: string): Promise<Json> {
  const { status, body } = await ask('GET', path);
  assert.is(status, 200, JSON.stringify(body));
  return body;
}

test.before(async () => {
  service = await startService({
    warm: true,
    env: { XDG_CACHE_HOME: cacheHome, HF_HOME: temporaryFolder() },
  });
  description = await readDescription(service);
});
test.after(endAll);

test('examples are listed with task, count, a sentence and a model that can be trained here', async () => {
  const { examples } = await get('/api/examples');
  assert.equal(
    examples.map(({ name, task, strategy }: Json) => [name, task, strategy]),
    [
      ['support', 'text-generation', 'sft'],
      ['summarization', 'summarization', 'sft'],
      ['question-answering', 'extractive-question-answering', 'sft'],
      ['preferences', 'text-generation', 'dpo'],
    ],
  );
  for (const example of examples) {
    assert.ok(example.num_examples >= 100 && example.sentence.endsWith('.'));
    const { recommended_model } = await get(`/api/finetune/recommended_models/${example.task}`);
    assert.is(example.model_name, recommended_model);
  }
});

test('a starter model that has been made is what examples are trained on', async () => {
  const folder = join(cacheHome, 'hone', 'starter-0123456789ab');
  mkdirSync(join(cacheHome, 'hone'), { recursive: true });
  cpSync(tinyModel('llama'), folder, { recursive: true });
  const models = async () => (await get('/api/examples')).examples.map(({ model_name }: Json) => model_name);
  assert.not((await models()).includes(folder), 'not before it is complete');
  writeFileSync(join(folder, 'starter.json'), '{}');
  assert.equal(new Set(await models()), new Set([folder]));
  const [example] = (await get('/api/examples')).examples;
  const request = { ...example.settings, task: example.task, model_name: folder, dataset: 'support.jsonl' };
  assert.is((await ask('POST', '/api/estimate', request)).status, 200, 'its settings are those of a request');
});

test('an example becomes a dataset, and never in the place of a user’s own', async () => {
  const use = async (name: string) => (await ask('POST', `/api/examples/${name}`)).body.filename;
  assert.is(await use('support'), 'support.jsonl');
  assert.is(await use('support'), 'support.jsonl');
  const own = supportRows().split('\n').slice(0, 20).join('\n');
  await service.upload('summarization.jsonl', own);
  assert.is(await use('summarization'), 'example-summarization.jsonl');
  assert.is((await get('/api/datasets/summarization.jsonl')).num_examples, 20);
  const { datasets } = await get('/api/datasets');
  assert.equal(datasets.map(({ filename, valid, shape }: Json) => [filename, valid, shape]).sort(), [
    ['example-summarization.jsonl', true, 'input-output'],
    ['summarization.jsonl', true, 'input-output'],
    ['support.jsonl', true, 'input-output'],
  ]);
  for (const name of ['none', '..%2Fpackage', 'support.jsonl']) {
    assert.is((await ask('POST', `/api/examples/${name}`)).status, 404);
  }
});

test('choices are the names that a start accepts', async () => {
  const { optimizers, lr_scheduler_types, quantizations } = await get('/api/choices');
  assert.ok(optimizers.includes('adamw_torch') && optimizers.includes('adafactor'));
  assert.ok(lr_scheduler_types.includes('cosine') && lr_scheduler_types.includes('linear'));
  assert.ok(quantizations.includes('Q8_0') && quantizations.includes('Q4_K_M'));
  const request = quickRequest({ export: { quantizations } });
  for (const optim of optimizers) {
    assert.is((await ask('POST', '/api/estimate', { ...request, optim })).status, 200, optim);
  }
  for (const field of ['optim', 'lr_scheduler_type']) {
    const { status, body } = await ask('POST', '/api/estimate', { ...request, [field]: 'none_such' });
    assert.is(status, 400);
    assert.match(body.detail, field);
  }
});

test('choices tell which rows each task and strategy takes', async () => {
  const { tasks, strategies, providers } = await get('/api/choices');
  assert.equal(
    tasks.map(({ name, row_shape, row_shapes }: Json) => [name, row_shape, row_shapes]),
    [
      ['text-generation', 'input-output', ['input-output', 'messages', 'text']],
      ['summarization', 'input-output', ['input-output']],
      ['extractive-question-answering', 'question-answer', ['question-answer']],
    ],
  );
  assert.equal(
    strategies.map(({ name, row_shape }: Json) => [name, row_shape]),
    [
      ['sft', null],
      ['qlora', null],
      ['dpo', 'preference'],
      ['rlhf', 'preference'],
      ['grpo', 'prompt'],
      ['kto', 'unpaired-preference'],
      ['distill', null],
    ],
  );
  assert.equal(strategies.find(({ name }: Json) => name === 'dpo').tasks, ['text-generation']);
  assert.equal(
    providers.map(({ label }: Json) => label),
    ['Standard', 'Accelerated'],
  );
});

test('recommendations give a reason, size, licence and memory, for this machine or another profile', async () => {
  for (const task of ['text-generation', 'summarization', 'extractive-question-answering']) {
    const { compute_profile, possible_models } = await get(`/api/finetune/recommended_models/${task}`);
    const { profile, recommendations } = await get(`/api/recommendations?task=${task}`);
    assert.is(profile, compute_profile);
    assert.equal(
      recommendations.map(({ model }: Json) => model),
      possible_models,
    );
    for (const other of ['low_end', 'mid_range', 'high_end']) {
      const found = (await get(`/api/recommendations?task=${task}&profile=${other}`)).recommendations;
      for (const { why, licence, parameters_billion, memory_bytes } of found) {
        assert.ok(why.length > 10 && licence.length > 2);
        // Never less than the weights alone at four bits.
        assert.ok(memory_bytes > parameters_billion * 0.5e9, `${memory_bytes} for ${parameters_billion} B`);
      }
    }
  }
  const unknown = await ask('GET', '/api/recommendations?task=dancing');
  assert.is(unknown.status, 400);
  assert.match(unknown.body.detail, 'summarization');
  assert.is((await ask('GET', '/api/recommendations')).status, 400);
  assert.is((await ask('GET', '/api/recommendations?task=summarization&profile=huge')).status, 400);
});

test('an estimate refuses an unknown task, strategy or provider by name', async () => {
  for (const field of ['task', 'strategy', 'provider']) {
    const { status, body } = await ask('POST', '/api/estimate', quickRequest({ [field]: 'none_such' }));
    assert.is(status, 400);
    assert.match(body.detail, 'none_such');
    assert.match(body.detail, /Allowed: \w+/);
  }
  const fine = await ask(
    'POST',
    '/api/estimate',
    quickRequest({ strategy: 'qlora', provider: 'huggingface' }),
  );
  assert.is(fine.body.precision, '4-bit');
});

test('a training whose files would not find room is refused with the figures, before it starts', async () => {
  const huge = temporaryFolder();
  cpSync(tinyModel('llama'), huge, { recursive: true });
  // A header that tells of weights beyond any disk: what the service reads is the header alone.
  const header = Buffer.from(
    JSON.stringify({ 'model.weight': { dtype: 'F32', shape: [1e8, 1e8], data_offsets: [0, 4] } }),
  );
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  writeFileSync(join(huge, 'model.safetensors'), Buffer.concat([length, header, Buffer.alloc(4)]));
  const request = quickRequest({ model_name: huge });
  for (const path of ['/api/start_training', '/api/finetune/start_training']) {
    for (const queue of [false, true]) {
      const { status, body } = await ask('POST', path, { ...request, queue });
      assert.is(status, 507, JSON.stringify(body));
      assert.match(body.detail, /needs about [\d.]+ GB of disk \(checkpoints [\d.]+ GB, export [\d.]+ GB\)/);
      assert.match(body.detail, /and [\d.]+ GB are free in .*Free [\d.]+ GB, set "export"/);
    }
  }
  assert.is((await get('/api/jobs')).total, 0);
  const { fits, advice } = (await ask('POST', '/api/estimate', request)).body;
  assert.is(fits, false);
  assert.match(advice.join(' '), /Free \d+ GB of disk/);
});

test('an architecture without GGUF support is reported before the training', async () => {
  const odd = temporaryFolder();
  cpSync(tinyModel('llama'), odd, { recursive: true });
  const config = JSON.parse(readFileSync(join(odd, 'config.json'), 'utf8'));
  writeFileSync(
    join(odd, 'config.json'),
    JSON.stringify({ ...config, architectures: ['NoSuchForCausalLM'] }),
  );
  const advice = async (changes: object) =>
    (await ask('POST', '/api/estimate', quickRequest({ model_name: odd, ...changes }))).body.advice.join(' ');
  assert.match(await advice({}), 'llama.cpp cannot run the architecture NoSuchForCausalLM');
  assert.not.match(await advice({ export: 'none' }), 'llama.cpp');
  const wanted = quickRequest({ model_name: odd, export: { quantizations: ['Q8_0'] } });
  const { status, body } = await ask('POST', '/api/start_training', wanted);
  assert.is(status, 400);
  assert.match(body.detail, 'NoSuchForCausalLM');
});

test('a model has its lineage', async () => {
  const request = quickRequest({ max_steps: 2, export: 'none' });
  assert.is((await ask('POST', '/api/start_training', request)).status, 200);
  assert.is((await untilEnded(service)).status, 'completed');
  const [{ model_id: modelId }] = await get('/api/models/');
  const lineage = await get(`/api/models/${modelId}/lineage`);
  assert.is(lineage.job_id, 'train_1');
  assert.is(lineage.dataset, 'support.jsonl');
  assert.is(lineage.base_model, tinyModel('llama'));
  assert.is(lineage.settings.max_steps, 2);
  assert.type(lineage.metrics.final_loss, 'number');
  assert.is(lineage.chat_template, false, 'its base has no chat template');
  const weights = lineage.files.find(({ name }: Json) => name === 'adapter/adapter_model.safetensors');
  assert.ok(weights.bytes > 1000);
  assert.equal(lineage, await get(`/api/models/${lineage.id}/lineage`));
  assert.is((await ask('GET', '/api/models/99/lineage')).status, 404);
  assert.is((await ask('DELETE', '/api/jobs/train_1')).status, 200);
  assert.is((await get(`/api/models/${modelId}/lineage`)).job_id, null);
});

test('the template of a chat model is returned', async () => {
  const request = quickRequest({ model_name: tinyModel('llama', 'chatml'), max_steps: 1, export: 'none' });
  assert.is((await ask('POST', '/api/start_training', request)).status, 200);
  assert.is((await untilEnded(service)).status, 'completed');
  const [{ model_id: modelId }] = await get('/api/models/');
  assert.is((await get(`/api/models/${modelId}/lineage`)).chat_template, true);
});

test('a job that is stopped to be discarded leaves nothing; one that waits does neither', async () => {
  const request = quickRequest({ max_steps: 100_000, save_steps: 5, export: 'none' });
  const { job_id: jobId } = (await ask('POST', '/api/start_training', request)).body;
  const waiting = (await ask('POST', '/api/start_training', { ...request, queue: true })).body.job_id;
  const folder = join(service.dataDir, 'jobs', jobId);
  await until(
    () => existsSync(join(folder, 'checkpoints')) && readdirSync(join(folder, 'checkpoints')).length > 0,
    'a checkpoint was written',
  );
  const first = await ask('POST', `/api/jobs/${waiting}/stop`, { discard: true });
  assert.is(first.body.state, 'stopped', JSON.stringify(first.body));
  const { status, body } = await ask('POST', `/api/jobs/${jobId}/stop`, { discard: true });
  assert.is(status, 200, JSON.stringify(body));
  assert.is(body.state, 'stopped');
  for (const id of [jobId, waiting]) {
    assert.is((await ask('GET', `/api/jobs/${id}`)).status, 404);
    assert.not.ok(existsSync(join(service.dataDir, 'jobs', id)));
    assert.not.ok(existsSync(join(service.dataDir, 'training_logs', id)));
  }
  assert.equal(trainersOf(service.dataDir), []);
  assert.is((await get('/api/training_status')).status, 'completed', 'of the job before');
  assert.is((await ask('POST', `/api/jobs/${jobId}/stop`, { discard: true })).status, 404);
  assert.is((await ask('POST', '/api/jobs/train_2/stop', { discard: 'yes' })).status, 400);
  assert.is((await ask('POST', '/api/jobs/train_2/stop', { discrad: true })).status, 400);
  assert.is((await ask('POST', '/api/jobs/train_2/stop', { discard: true })).status, 409, 'it has ended');
});

test('a discarded job is deleted by the next server when this one is killed before', async () => {
  const request = quickRequest({ max_steps: 100_000, export: 'none' });
  const { job_id: jobId } = (await ask('POST', '/api/start_training', request)).body;
  await until(async () => (await get(`/api/jobs/${jobId}`)).state === 'running', 'it runs');
  const [pid] = trainersOf(service.dataDir);
  // A trainer that is stopped does not end before the server is killed.
  process.kill(pid as number, 'SIGSTOP');
  const { dataDir } = service;
  const { Database } = await import('../../src/db/sqlite.ts');
  await service.end('SIGKILL');
  const db = new Database(join(dataDir, 'database', 'hone.sqlite'));
  db.prepare('UPDATE jobs SET discard_requested = 1, stop_requested = 1 WHERE pid = ?').run(pid);
  db.close();
  service = await startService({ dataDir, env: { XDG_CACHE_HOME: cacheHome } });
  await until(async () => (await service.call('GET', `/api/jobs/${jobId}`)).status === 404, 'it was deleted');
  assert.equal(trainersOf(dataDir), []);
  await until(() => !existsSync(join(dataDir, 'jobs', jobId)), 'its folder is gone');
});

test.run();
