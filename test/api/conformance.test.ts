/** The specification's tables on training, models, hub and playground, row by row, with one training. */
import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type Answer,
  type Json,
  quickRequest,
  startService,
  supportRows,
  temporaryFolder,
  until,
} from '../service.ts';
import {
  ask,
  description,
  flatStatus,
  get,
  hasFields,
  hub,
  isDetail,
  isFlatError,
  service,
  trainingStatus,
  useService,
} from './conformance.ts';

useService({ warm: true });

const listForm = {
  model_id: 'string',
  name: 'string',
  base_model: 'string',
  task: 'string',
  strategy: 'string',
  created_at: 'time',
  size_mb: 'number',
  path: 'string',
};
const flatListForm = {
  id: 'integer',
  name: 'string',
  base_model: 'string',
  task: 'string',
  created_at: 'time',
  size_mb: 'number',
};

/** Ids of the one model that the file trains. */
let modelId = '';
let flatId = 0;
/** What both status paths said while it was trained. */
const seen: { finetune: Json; flat: Json }[] = [];
let started: Json;
let conflicts: Answer[] = [];

// Datasets (flat set)

test('GET /api/datasets: datasets, an array, empty at first', async () => {
  assert.equal(await get('GET', '/api/datasets'), { datasets: [] });
});

test('POST /api/upload_dataset: status (uploaded), filename, num_examples, validation {valid, errors}', async () => {
  const answer = await service.upload('support.jsonl', supportRows());
  description.check('POST', '/api/upload_dataset', answer);
  assert.is(answer.status, 200);
  const { body } = answer;
  hasFields(body, { status: 'string', filename: 'string', num_examples: 'integer', validation: 'object' });
  assert.equal([body.status, body.filename, body.num_examples], ['uploaded', 'support.jsonl', 400]);
  assert.is(body.validation.valid, true);
  assert.equal(body.validation.errors, []);
});

test('GET /api/datasets: filename, num_examples, size_mb, uploaded_at of each', async () => {
  const { datasets } = await get('GET', '/api/datasets');
  assert.is(datasets.length, 1);
  const fields = { filename: 'string', num_examples: 'integer', size_mb: 'number', uploaded_at: 'time' };
  hasFields(datasets[0], fields, ['valid', 'shape', 'former_names', 'findings']);
});

test('POST /api/finetune/start_training: success, message, job_id (string)', async () => {
  // An alias of `standard`, which is never returned (docs/specification.md, Values).
  const request = quickRequest({ provider: 'huggingface' });
  started = await get('POST', '/api/finetune/start_training', request);
  const conflicting = ['/api/finetune/start_training', '/api/start_training'];
  conflicts = await Promise.all(conflicting.map((path) => ask('POST', path, quickRequest())));
  hasFields(started, { success: 'boolean', message: 'string', job_id: 'string' });
  assert.is(started.success, true);
  assert.is(started.job_id, 'train_1');
});

test('reset_status while a training runs: succeeds, changes nothing and says so', async () => {
  const body = await get('POST', '/api/finetune/reset_status');
  assert.is(body.success, true);
  assert.match(body.message, /in progress/);
  assert.is((await get('GET', '/api/finetune/status')).status, 'running');
});

test('state queued, starting, running: running and training, progress from 0 to 100', async () => {
  await until(async () => {
    const [finetune, flat] = await Promise.all([
      get('GET', '/api/finetune/status'),
      get('GET', '/api/training_status'),
    ]);
    seen.push({ finetune, flat });
    return finetune.status !== 'running';
  }, 'the training ended');
  const during = seen.filter(
    ({ finetune, flat }) => finetune.status === 'running' && flat.status !== 'completed',
  );
  assert.ok(during.length > 3);
  for (const { finetune, flat } of during) {
    hasFields(finetune, trainingStatus);
    hasFields(flat, flatStatus);
    assert.is(finetune.error, null);
    assert.ok(finetune.progress >= 0 && finetune.progress < 100);
    assert.is(flat.status, 'training');
  }
  const progress = during.map(({ finetune }) => finetune.progress);
  assert.equal(
    progress,
    [...progress].sort((a, b) => a - b),
  );
});

test('state completed: completed with progress 100, error null; completed in the flat set', async () => {
  const status = await get('GET', '/api/finetune/status');
  assert.equal({ ...status, message: '' }, { status: 'completed', progress: 100, message: '', error: null });
  const flat = await get('GET', '/api/training_status');
  hasFields(flat, flatStatus);
  assert.is(flat.status, 'completed');
  assert.is(flat.progress, 100);
  assert.is(flat.current_step, 6);
  assert.is(flat.total_steps, 6);
  assert.type(flat.loss, 'number');
  assert.type(flat.learning_rate, 'number');
});

test('POST /api/start_training: 409 while a training is in progress, in each set’s format', () => {
  isDetail(conflicts[0] as Answer, 409, 'train_1');
  isFlatError(conflicts[1] as Answer, 409, 'train_1');
});

test('POST /api/finetune/reset_status: success, message; the state is idle after it', async () => {
  const body = await get('POST', '/api/finetune/reset_status');
  hasFields(body, { success: 'boolean', message: 'string' });
  assert.is(body.success, true);
  assert.is((await get('GET', '/api/finetune/status')).status, 'idle');
  assert.is((await get('GET', '/api/training_status')).status, 'idle');
});

// Models

test('GET /api/models/: array of model records (list form)', async () => {
  const body = await get('GET', '/api/models/');
  assert.is(body.length, 1);
  hasFields(body[0], listForm);
  modelId = body[0].model_id;
  assert.not.match(modelId, /^\d+$/);
  assert.ok(existsSync(body[0].path));
});

test('GET /api/models/{model_id}: detail form with provider, config, metrics', async () => {
  const body = await get('GET', `/api/models/${modelId}`);
  hasFields(body, { ...listForm, provider: 'string', config: 'object', metrics: 'object' });
  for (const key of ['lora_r', 'lora_alpha', 'num_train_epochs', 'learning_rate']) {
    assert.type(body.config[key], 'number', key);
  }
  assert.type(body.metrics.final_loss, 'number');
  assert.is(body.provider, 'standard');
  assert.is(body.strategy, 'sft');
});

test('GET /api/models/task/{task}: array of reduced records', async () => {
  const body = await get('GET', '/api/models/task/text-generation');
  assert.is(body.length, 1);
  hasFields(body[0], {
    model_id: 'string',
    name: 'string',
    base_model: 'string',
    task: 'string',
    created_at: 'time',
  });
  assert.equal(await get('GET', '/api/models/task/summarization'), []);
});

test('GET /api/models: models, an array of model records (flat list form), id integer', async () => {
  const body = await get('GET', '/api/models');
  hasFields(body, { models: 'array' });
  assert.is(body.models.length, 1);
  hasFields(body.models[0], flatListForm);
  flatId = body.models[0].id;
});

test('GET /api/models/{model_id}: flat detail form with provider, strategy, training_params, metrics', async () => {
  const body = await get('GET', `/api/models/${flatId}`);
  hasFields(body, {
    ...flatListForm,
    provider: 'string',
    strategy: 'string',
    training_params: 'object',
    metrics: 'object',
  });
  hasFields(body.training_params, { num_epochs: 'number', batch_size: 'number', learning_rate: 'number' });
  assert.is(body.training_params.batch_size, 2);
  assert.type(body.metrics.final_loss, 'number');
  assert.ok('perplexity' in body.metrics);
});

test('a path segment of digits alone is a flat id, anything else a string id; so are their errors', async () => {
  for (const id of ['999', '0', '00000000000000000001', '9'.repeat(400), '%39']) {
    isFlatError(await ask('GET', `/api/models/${id}`), 404);
    isFlatError(await ask('DELETE', `/api/models/${id}`), 404);
  }
  for (const id of ['unknown', '1.0', '-1', '1a', '%00', '１', `${modelId}x`]) {
    isDetail(await ask('GET', `/api/models/${id}`), 404);
    isDetail(await ask('DELETE', `/api/models/${id}`), 404);
  }
  isDetail(await ask('GET', '/api/models/%zz'), 400, 'percent');
});

test('the two lists differ by the trailing slash; no other path takes one', async () => {
  assert.ok(Array.isArray(await get('GET', '/api/models/')));
  assert.ok(Array.isArray((await get('GET', '/api/models')).models));
  for (const path of ['/api/info/', '/api/health/', '/api/datasets/', '/api/finetune/status/']) {
    isFlatError(await service.call('GET', path), 404, path);
  }
});

// Hub

test('POST /api/hub/push: success, message, repo_url (string URL)', async () => {
  const body = await get('POST', '/api/hub/push', {
    model_id: modelId,
    repo_name: 'tester/tuned',
    private: true,
  });
  hasFields(body, { success: 'boolean', message: 'string', repo_url: 'string' });
  assert.is(body.success, true);
  assert.is(body.repo_url, `${hub.url}/tester/tuned`);
  assert.is(hub.repositories.get('tester/tuned')?.isPrivate, true);
});

test('403 no permission to push: string naming the owner', async () => {
  const push = { model_id: modelId, repo_name: 'acme/tuned', private: true };
  isDetail(await ask('POST', '/api/hub/push', push), 403, 'acme');
});

// Playground

test('GET /api/playground/model_path: model_path, model_id', async () => {
  const body = await get('GET', `/api/playground/model_path?model_id=${modelId}`);
  hasFields(body, { model_path: 'string', model_id: 'string' });
  assert.is(body.model_id, modelId);
  assert.ok(existsSync(body.model_path));
});

test('POST /api/playground/new: generated_text, prompt, tokens_generated, generation_time_ms', async () => {
  const body = await get('POST', '/api/playground/new', {
    model_id: modelId,
    prompt: 'Where is my parcel?',
    max_length: 8,
    temperature: 0.5,
    top_p: 0.9,
  });
  hasFields(body, {
    generated_text: 'string',
    prompt: 'string',
    tokens_generated: 'integer',
    generation_time_ms: 'integer',
  });
  assert.is(body.prompt, 'Where is my parcel?');
  assert.ok(body.tokens_generated <= 8);
});

test('POST /api/playground/generate: generated_text, tokens_generated, generation_time_ms', async () => {
  const body = await get('POST', '/api/playground/generate', {
    model_id: flatId,
    prompt: 'Where is my parcel?',
    max_new_tokens: 8,
    temperature: 0,
    top_p: 1,
  });
  hasFields(body, { generated_text: 'string', tokens_generated: 'integer', generation_time_ms: 'integer' });
});

// Deletion, last

let dataBeforeDeletion = '';

test('DELETE /api/models/{model_id}: success, message, and the model is gone from both sets', async () => {
  await get('POST', '/api/finetune/validate_task', { task: 'summarization' });
  await get('POST', '/api/finetune/set_custom_model', { repo_name: 'acme/tiny' });
  dataBeforeDeletion = temporaryFolder();
  cpSync(join(service.dataDir, 'database'), join(dataBeforeDeletion, 'database'), { recursive: true });
  const { path } = await get('GET', `/api/models/${modelId}`);
  const body = await get('DELETE', `/api/models/${modelId}`);
  hasFields(body, { success: 'boolean', message: 'string' }, ['bin_id']);
  assert.is(body.success, true);
  assert.not.ok(existsSync(path));
  isDetail(await ask('GET', `/api/models/${modelId}`), 404, modelId);
  isFlatError(await ask('GET', `/api/models/${flatId}`), 404);
});

test('the session survives a restart; DELETE /api/models/{model_id} (flat): status (deleted), message', async () => {
  const other = await startService({ dataDir: dataBeforeDeletion });
  assert.equal((await other.call('GET', '/api/finetune/session')).body, {
    success: true,
    task: 'summarization',
    selected_model: 'acme/tiny',
    is_custom_model: true,
  });
  const answer = await other.call('DELETE', `/api/models/${flatId}`);
  description.check('DELETE', '/api/models/{model_id}', answer);
  assert.is(answer.status, 200);
  hasFields(answer.body, { status: 'string', message: 'string' });
  assert.is(answer.body.status, 'deleted');
  assert.equal((await other.call('GET', '/api/models')).body, { models: [] });
  assert.equal((await other.call('GET', '/api/models/')).body, []);
  await other.end();
});

test.run();
