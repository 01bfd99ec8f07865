/**
 * The specification's tables, row by row: each test is named by its row. Every answer is also held against
 * its schema in the service's OpenAPI document.
 */
import { cpSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type LoopbackHub, startLoopbackHub } from '../hub/loopback.ts';
import { littleInstallation } from '../jobs/little-installation.ts';
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
  until,
  untilEnded,
} from '../service.ts';
import { type Description, readDescription } from './description.ts';

const tasks = ['text-generation', 'summarization', 'extractive-question-answering'];
const settings = {
  per_device_train_batch_size: 'number',
  gradient_accumulation_steps: 'number',
  learning_rate: 'number',
  num_train_epochs: 'number',
  max_seq_length: 'number',
  lora_r: 'number',
  lora_alpha: 'number',
  use_4bit: 'boolean',
  bf16: 'boolean',
  warmup_ratio: 'number',
  lr_scheduler_type: 'string',
  optim: 'string',
};
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
const trainingStatus = { status: 'string', progress: 'number', message: 'string', error: 'string or null' };
const flatStatus = {
  status: 'string',
  progress: 'number',
  current_epoch: 'integer or null',
  total_epochs: 'integer or null',
  current_step: 'integer or null',
  total_steps: 'integer or null',
  loss: 'number or null',
  learning_rate: 'number or null',
  message: 'string',
  error: 'string or null',
};

let service: TestService;
let hub: LoopbackHub;
let description: Description;
/** Ids of the one model that the file trains. */
let modelId = '';
let flatId = 0;
/** What both status paths said while it was trained. */
const seen: { finetune: Json; flat: Json }[] = [];
let started: Json;
let conflicts: Answer[] = [];

const types: Record<string, (value: Json) => boolean> = {
  string: (value) => typeof value === 'string',
  number: (value) => Number.isFinite(value),
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'string[]': (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
  array: (value) => Array.isArray(value),
  null: (value) => value === null,
  // ISO 8601 in UTC
  time: (value) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value),
};

/** Exactly the fields of `shape`, each of its type ("a or b" for either), and any of those in `also`. */
function hasFields(body: Json, shape: Record<string, string>, also: readonly string[] = []): void {
  assert.ok(types.object?.(body), `an object, not ${JSON.stringify(body)}`);
  const names = Object.keys(body).filter((name) => !also.includes(name));
  assert.equal(names.sort(), Object.keys(shape).sort());
  for (const [name, type] of Object.entries(shape)) {
    assert.ok(
      type.split(' or ').some((one) => types[one]?.(body[name])),
      `${name} is ${type}, not ${JSON.stringify(body[name])}`,
    );
  }
}

/** A request whose answer must be as the OpenAPI document says. */
async function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  const answer = await service.call(method, path, body);
  description.check(method, path.split('?')[0] as string, answer);
  return answer;
}

/** As `ask`, for an answer that must be 200; its body. */
async function get(method: string, path: string, body?: unknown): Promise<Json> {
  const answer = await ask(method, path, body);
  assert.is(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

/** `{detail}` alone, a text that has `words`. */
function isDetail(answer: Answer, status: number, ...words: (string | RegExp)[]): void {
  assert.is(answer.status, status, JSON.stringify(answer.body));
  hasFields(answer.body, { detail: 'string' });
  for (const word of words) assert.match(answer.body.detail, word);
}

/** `{detail: [{loc, msg, type}]}`, its first issue at `loc` with `words`. */
function isIssue(answer: Answer, loc: readonly string[], ...words: (string | RegExp)[]): void {
  assert.is(answer.status, 400, JSON.stringify(answer.body));
  hasFields(answer.body, { detail: 'array' });
  for (const issue of answer.body.detail)
    hasFields(issue, { loc: 'string[]', msg: 'string', type: 'string' });
  const [first] = answer.body.detail;
  assert.equal(first.loc, loc);
  for (const word of words) assert.match(first.msg, word);
}

/** `{error, detail, status_code}`, its detail with `words`. */
function isFlatError(answer: Answer, status: number, ...words: (string | RegExp)[]): void {
  assert.is(answer.status, status, JSON.stringify(answer.body));
  hasFields(answer.body, { error: 'string', detail: 'string', status_code: 'integer' });
  assert.is(answer.body.status_code, status);
  for (const word of words) assert.match(answer.body.detail, word);
}

test.before(async () => {
  hub = await startLoopbackHub();
  hub.accounts.set('hf_writer', { name: 'tester', role: 'write' });
  hub.addModel('acme/tiny', tinyModel('llama'), { downloads: 1234, likes: 56 });
  hub.addModel('acme/secret', tinyModel('llama'), { isPrivate: true });
  hub.addModel('acme/gated', tinyModel('llama'), { gated: 'manual' });
  service = await startService({
    env: {
      HF_ENDPOINT: hub.url,
      HUB_TOKEN: 'hf_writer',
      HF_HOME: temporaryFolder(),
      HF_HUB_OFFLINE: '0',
    },
  });
  description = await readDescription(service);
});
test.after(async () => {
  await endAll();
  await hub.close();
});

// System (flat set)

test('GET /api/info: providers, strategies, tasks (string[]), version', async () => {
  const body = await get('GET', '/api/info');
  hasFields(body, { providers: 'string[]', strategies: 'string[]', tasks: 'string[]', version: 'string' }, [
    'availability',
    'http',
  ]);
  assert.equal(body.providers, ['standard', 'accelerated']);
  assert.equal([...body.strategies].sort(), ['dpo', 'qlora', 'rlhf', 'sft']);
  assert.equal(body.tasks, tasks);
  assert.is(body.version, 'v2');
});

test('GET /api/health: status (healthy), version', async () => {
  assert.equal(await get('GET', '/api/health'), { status: 'healthy', version: 'v2' });
});

test('the web interface is served at the root', async () => {
  const page = await service.call('GET', '/');
  assert.is(page.status, 200);
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
});

test('the data directory has database, datasets, model_checkpoints and training_logs', () => {
  for (const name of ['database', 'datasets', 'model_checkpoints', 'training_logs']) {
    assert.ok(existsSync(join(service.dataDir, name)), name);
  }
});

// States, before anything has run

test('state none: /api/finetune/status is idle with progress 0, /api/training_status is idle', async () => {
  const status = await get('GET', '/api/finetune/status');
  hasFields(status, trainingStatus);
  assert.equal({ ...status, message: '' }, { status: 'idle', progress: 0, message: '', error: null });
  const flat = await get('GET', '/api/training_status');
  hasFields(flat, flatStatus);
  assert.is(flat.status, 'idle');
  assert.is(flat.progress, 0);
  for (const field of ['current_epoch', 'total_epochs', 'current_step', 'total_steps', 'loss']) {
    assert.is(flat[field], null, field);
  }
});

test('stop_training with no job: 409', async () => {
  isFlatError(await ask('POST', '/api/stop_training'), 409);
});

// Training and selection (/api/finetune set)

test('GET /api/finetune/session: success, task, selected_model, is_custom_model, before a choice', async () => {
  assert.equal(await get('GET', '/api/finetune/session'), {
    success: true,
    task: null,
    selected_model: null,
    is_custom_model: false,
  });
});

for (const task of tasks) {
  test(`POST /api/finetune/validate_task: valid, task (${task})`, async () => {
    assert.equal(await get('POST', '/api/finetune/validate_task', { task }), { valid: true, task });
  });

  test(`GET /api/finetune/recommended_models/{task}: four fields (${task})`, async () => {
    const body = await get('GET', `/api/finetune/recommended_models/${task}`);
    hasFields(body, {
      task: 'string',
      recommended_model: 'string',
      possible_models: 'string[]',
      compute_profile: 'string',
    });
    assert.is(body.task, task);
    assert.ok(body.possible_models.includes(body.recommended_model));
    assert.ok(['low_end', 'mid_range', 'high_end'].includes(body.compute_profile));
    for (const model of body.possible_models) assert.match(model, /^[\w.-]+\/[\w.-]+$/);
  });

  test(`POST /api/finetune/detect: both documented shapes (${task})`, async () => {
    const body = await get('POST', '/api/finetune/detect', { task });
    hasFields(body, {
      status_code: 'integer',
      profile: 'string',
      task: 'string',
      gpu_name: 'string',
      gpu_total_memory_gb: 'number',
      ram_total_gb: 'number',
      available_diskspace_gb: 'number',
      cpu_cores: 'integer',
      model_recommendation: 'string',
      possible_options: 'string[]',
      hardware_specs: 'object',
      compute_profile: 'string',
      recommended_model: 'string',
      possible_models: 'string[]',
    });
    hasFields(body.hardware_specs, {
      gpu_name: 'string',
      gpu_memory_gb: 'number',
      ram_gb: 'number',
      cuda_version: 'string or null',
    });
    assert.is(body.status_code, 200);
    assert.is(body.task, task);
    assert.is(body.profile, body.compute_profile);
    assert.is(body.model_recommendation, body.recommended_model);
    assert.equal(body.possible_options, body.possible_models);
    assert.is(body.gpu_total_memory_gb, body.hardware_specs.gpu_memory_gb);
    assert.is(body.ram_total_gb, body.hardware_specs.ram_gb);
  });
}

test('POST /api/finetune/validate_model: valid, model', async () => {
  for (const model of ['acme/tiny', tinyModel('llama')]) {
    assert.equal(await get('POST', '/api/finetune/validate_model', { selected_model: model }), {
      valid: true,
      model,
    });
  }
});

test('POST /api/finetune/validate_custom_model: valid, repo_name, model_info {id, author, downloads, likes}', async () => {
  assert.equal(await get('POST', '/api/finetune/validate_custom_model', { repo_name: 'acme/tiny' }), {
    valid: true,
    repo_name: 'acme/tiny',
    model_info: { id: 'acme/tiny', author: 'acme', downloads: 1234, likes: 56 },
  });
});

test('POST /api/finetune/set_model: success, selected_model, message; the session keeps it', async () => {
  const body = await get('POST', '/api/finetune/set_model', { selected_model: 'acme/tiny' });
  hasFields(body, { success: 'boolean', selected_model: 'string', message: 'string' });
  assert.is(body.success, true);
  assert.is(body.selected_model, 'acme/tiny');
  const session = await get('GET', '/api/finetune/session');
  assert.is(session.selected_model, 'acme/tiny');
  assert.is(session.is_custom_model, false);
});

test('POST /api/finetune/set_custom_model: success, selected_model, message, valid, repo_name', async () => {
  const body = await get('POST', '/api/finetune/set_custom_model', { repo_name: 'acme/tiny' });
  hasFields(body, {
    success: 'boolean',
    selected_model: 'string',
    message: 'string',
    valid: 'boolean',
    repo_name: 'string',
  });
  assert.equal(
    { ...body, message: '' },
    {
      success: true,
      selected_model: 'acme/tiny',
      message: '',
      valid: true,
      repo_name: 'acme/tiny',
    },
  );
});

test('GET /api/finetune/session: success, task, selected_model, is_custom_model', async () => {
  await get('POST', '/api/finetune/validate_task', { task: 'summarization' });
  assert.equal(await get('GET', '/api/finetune/session'), {
    success: true,
    task: 'summarization',
    selected_model: 'acme/tiny',
    is_custom_model: true,
  });
});

test('GET /api/finetune/load_settings: the default training settings, each of its type', async () => {
  const body = await get('GET', '/api/finetune/load_settings');
  hasFields(
    body,
    settings,
    Object.keys(body).filter((name) => !(name in settings)),
  );
  const { compute_profile: profile } = await get('GET', '/api/finetune/recommended_models/summarization');
  const byProfile: Json = {
    low_end: { per_device_train_batch_size: 1, gradient_accumulation_steps: 8, max_seq_length: 512 },
    mid_range: { per_device_train_batch_size: 2, gradient_accumulation_steps: 4, max_seq_length: 1024 },
    high_end: { per_device_train_batch_size: 4, gradient_accumulation_steps: 2, max_seq_length: 2048 },
  };
  for (const [name, value] of Object.entries(byProfile[profile])) assert.is(body[name], value, name);
});

test('GET /api/finetune/hardware_specs: the hardware specs object', async () => {
  hasFields(await get('GET', '/api/finetune/hardware_specs'), {
    gpu_name: 'string',
    gpu_memory_gb: 'number',
    ram_gb: 'number',
    disk_space_gb: 'number',
    cpu_cores: 'integer',
    cuda_version: 'string or null',
    torch_version: 'string or null',
  });
});

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
  hasFields(datasets[0], fields, ['valid', 'shape']);
});

const row = (index: number) => JSON.stringify({ input: `in ${index}`, output: `out ${index}` });
const rows = (count: number) => Array.from({ length: count }, (_, index) => row(index));
const datasetFaults: [string, string, (string | RegExp)[]][] = [
  ['missing required field (names the field)', [...rows(11), '{"input":"a"}'].join('\n'), ['output']],
  ['invalid JSON (names the line)', [...rows(11), '{oops'].join('\n'), [/line 12/i]],
  ['too small (gives the count and the minimum of 10)', rows(9).join('\n'), [/\b9\b/, /\b10\b/]],
  [
    'a field that is not a string (names the field)',
    [...rows(11), '{"input":"a","output":5}'].join('\n'),
    ['output'],
  ],
];
for (const [index, [name, content, words]] of datasetFaults.entries()) {
  test(`Dataset validation message: ${name}, at the upload and at both starts`, async () => {
    const dataset = `fault-${index}.jsonl`;
    const { status, body } = await service.upload(dataset, content);
    assert.is(status, 200);
    assert.is(body.validation.valid, false);
    for (const word of words) assert.match(body.validation.errors.join('; '), word);
    isDetail(await ask('POST', '/api/finetune/start_training', quickRequest({ dataset })), 400, ...words);
    isFlatError(await ask('POST', '/api/start_training', quickRequest({ dataset })), 400, ...words);
  });
}

test('Minimum dataset size: 10 examples are enough', async () => {
  assert.is((await service.upload('ten.jsonl', rows(10).join('\n'))).body.validation.valid, true);
});

test('Dataset upload size: 413 in the flat format at the limit', async () => {
  const small = await startService({ limits: { uploadBytes: 10_000 } });
  isFlatError(await small.upload('big.jsonl', rows(1000).join('\n')), 413);
  assert.is((await small.upload('small.jsonl', rows(100).join('\n'))).status, 200);
  await small.end();
});

// Training requests

for (const path of ['/api/finetune/start_training', '/api/start_training']) {
  test(`Accelerated provider with max_seq_length of -1 is rejected (${path})`, async () => {
    const answer = await ask('POST', path, quickRequest({ provider: 'accelerated', max_seq_length: -1 }));
    assert.is(answer.status, 400);
  });
}

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

// Limits

test('Database connection pool: 1,000 requests at once are all answered; Rate limiting: none', async () => {
  const paths = ['/api/models', '/api/models/', '/api/finetune/session', '/api/datasets', '/api/jobs'];
  const answers = await Promise.all(
    Array.from({ length: 1000 }, (_, index) => service.call('GET', paths[index % paths.length] as string)),
  );
  assert.ok(answers.every(({ status }) => status === 200));
});

// Errors, /api/finetune set

test('400 request validation fails: loc (body, field), msg that lists the allowed tasks, type', async () => {
  for (const path of ['/api/finetune/validate_task', '/api/finetune/detect']) {
    isIssue(await ask('POST', path, { task: 'poetry' }), ['body', 'task'], 'poetry', ...tasks);
    isIssue(await ask('POST', path, {}), ['body', 'task'], 'required');
  }
  for (const path of ['/api/finetune/recommended_models/poetry', '/api/models/task/poetry']) {
    isIssue(await ask('GET', path), ['path', 'task'], 'poetry', ...tasks);
  }
  isIssue(
    await ask('POST', '/api/finetune/start_training', quickRequest({ learning_rate: 'high' })),
    ['body', 'learning_rate'],
    'number',
  );
  for (const [path, field] of [
    ['/api/finetune/validate_model', 'selected_model'],
    ['/api/finetune/set_model', 'selected_model'],
    ['/api/finetune/validate_custom_model', 'repo_name'],
    ['/api/finetune/set_custom_model', 'repo_name'],
  ] as const) {
    isIssue(await ask('POST', path, { [field]: 'not a model' }), ['body', field], 'not a model');
  }
});

test('400 dataset validation failure: detail is a string', async () => {
  const answer = await ask(
    'POST',
    '/api/finetune/start_training',
    quickRequest({ dataset: 'fault-0.jsonl' }),
  );
  isDetail(answer, 400, 'Dataset validation failed');
});

test('403 model or repository not accessible (missing, or no permission): string naming the model', async () => {
  for (const model of ['acme/none', 'acme/secret', 'acme/gated']) {
    isDetail(await ask('POST', '/api/finetune/validate_model', { selected_model: model }), 403, model);
    isDetail(await ask('POST', '/api/finetune/validate_custom_model', { repo_name: model }), 403, model);
    isDetail(await ask('POST', '/api/finetune/set_custom_model', { repo_name: model }), 403, model);
  }
  assert.is((await get('GET', '/api/finetune/session')).selected_model, 'acme/tiny');
  const push = { model_id: modelId, repo_name: 'acme/tuned', private: true };
  isDetail(await ask('POST', '/api/hub/push', push), 403, 'acme');
});

test('404 unknown model: string naming the id', async () => {
  const id = '00000000-0000-4000-8000-000000000000';
  isDetail(await ask('GET', `/api/models/${id}`), 404, id);
  isDetail(await ask('DELETE', `/api/models/${id}`), 404, id);
  isDetail(await ask('GET', `/api/playground/model_path?model_id=${id}`), 404, id);
  isDetail(await ask('POST', '/api/playground/new', { model_id: id, prompt: 'x' }), 404, id);
  isDetail(await ask('POST', '/api/hub/push', { model_id: id, repo_name: 'tester/x' }), 404, id);
  isDetail(
    await ask('POST', '/api/finetune/start_training', quickRequest({ dataset: 'none.jsonl' })),
    404,
    'none.jsonl',
  );
});

test('502 hub unreachable: string naming the hub', async () => {
  const away = await startService({ env: { HF_ENDPOINT: 'http://127.0.0.1:9', HF_HOME: temporaryFolder() } });
  for (const [path, body] of [
    ['/api/finetune/validate_model', { selected_model: 'acme/tiny' }],
    ['/api/finetune/validate_custom_model', { repo_name: 'acme/tiny' }],
  ] as const) {
    const answer = await away.call('POST', path, body);
    description.check('POST', path, answer);
    isDetail(answer, 502, 'http://127.0.0.1:9');
  }
  await away.end();
});

// Errors, flat set

test('400 invalid parameters: error, detail, status_code', async () => {
  const start = await ask('POST', '/api/start_training', quickRequest({ task: 'poetry' }));
  isFlatError(start, 400, ...tasks);
  const generate = await ask('POST', '/api/playground/generate', { model_id: modelId, prompt: 'x' });
  isFlatError(generate, 400, 'model_id');
  isFlatError(await service.upload('notes.txt', 'hello'), 400, '.jsonl');
});

test('404 model or dataset not found: error, detail, status_code', async () => {
  isFlatError(await ask('GET', '/api/models/77'), 404, '77');
  isFlatError(await ask('POST', '/api/playground/generate', { model_id: 77, prompt: 'x' }), 404, '77');
  isFlatError(await ask('POST', '/api/start_training', quickRequest({ dataset: 'none.jsonl' })), 404, 'none');
});

test('413 a JSON body over the limit, in each set’s format', async () => {
  const huge = { task: 'x'.repeat(10_000_000) };
  isDetail(await ask('POST', '/api/finetune/validate_task', huge), 413);
  isFlatError(await ask('POST', '/api/start_training', huge), 413);
});

test('500 internal failure: an internal-error notice plus details, in each set’s format', async () => {
  const jobs = join(service.dataDir, 'jobs');
  renameSync(jobs, `${jobs}.away`);
  writeFileSync(jobs, 'not a folder');
  try {
    isDetail(await ask('POST', '/api/finetune/start_training', quickRequest()), 500, /^Internal error: ./);
    isFlatError(await ask('POST', '/api/start_training', quickRequest()), 500);
  } finally {
    rmSync(jobs);
    renameSync(`${jobs}.away`, jobs);
  }
  assert.is((await get('GET', '/api/finetune/status')).status, 'idle', 'nothing has started');
});

test('unknown /api path: 404 in the flat format; unknown method: 405 with Allow in the set’s format', async () => {
  for (const path of ['/api', '/api/', '/api/nothing', '/api/finetune/nothing', '/api/models/a/b']) {
    isFlatError(await service.call('GET', path), 404, path);
  }
  for (const { method, path } of description.operations) {
    const real = path.replace('{task}', 'summarization').replaceAll(/\{\w+\}/g, 'x');
    for (const other of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      if (description.find(other, real)) continue;
      const answer = await service.call(other, real, other === 'GET' ? undefined : {});
      assert.is(answer.status, 405, `${other} ${real}`);
      const allowed = answer.headers.get('allow')?.split(', ') ?? [];
      assert.ok(allowed.includes(method) && !allowed.includes(other), `${other} ${real}: ${allowed}`);
      if (/^\/api\/(finetune|hub)\//.test(real)) isDetail(answer, 405, other);
      else if (real.startsWith('/v1/')) assert.type(answer.body.error.message, 'string');
      else if (!/^\/api\/(models|playground)\//.test(real)) isFlatError(answer, 405, other);
    }
  }
});

test('HEAD answers as GET does, without a body; OPTIONS names the methods', async () => {
  for (const path of ['/api/health', '/api/info', '/api/models', '/api/models/', '/api/finetune/session']) {
    const [head, full] = await Promise.all([
      fetch(service.url + path, { method: 'HEAD' }),
      fetch(service.url + path),
    ]);
    assert.is(head.status, 200);
    assert.is(head.headers.get('content-type'), 'application/json');
    assert.is(head.headers.get('content-length'), full.headers.get('content-length'));
    assert.is(await head.text(), '');
  }
  assert.is((await fetch(`${service.url}/api/models/none`, { method: 'HEAD' })).status, 404);
  const options = await fetch(`${service.url}/api/models/${flatId}`, { method: 'OPTIONS' });
  assert.is(options.status, 204);
  assert.equal(options.headers.get('allow')?.split(', ').sort(), ['DELETE', 'GET', 'HEAD', 'OPTIONS']);
});

// States that only a trainer with a fate of its own reaches

const fates: [string, string, string, string][] = [
  ['exit-code', 'failed', 'error', 'error'],
  ['killed', 'interrupted', 'error', 'error'],
];
for (const [scenario, state, status, flatName] of fates) {
  test(`state ${state}: ${status} with its text, ${flatName} in the flat set; idle after reset`, async () => {
    const other = await startService({ env: littleInstallation(scenario) });
    await other.upload('support.jsonl', supportRows());
    assert.is((await other.call('POST', '/api/start_training', quickRequest())).status, 200);
    const ended = await untilEnded(other);
    hasFields(ended, trainingStatus);
    assert.is(ended.status, status);
    assert.type(ended.error, 'string');
    const flat = (await other.call('GET', '/api/training_status')).body;
    hasFields(flat, flatStatus);
    assert.is(flat.status, flatName);
    assert.is((await other.call('GET', '/api/jobs/train_1')).body.state, state);
    await other.call('POST', '/api/finetune/reset_status');
    assert.is((await other.call('GET', '/api/finetune/status')).body.status, 'idle');
    await other.end();
  });
}

test('POST /api/start_training: status (started), job_id, message; POST /api/stop_training: status (stopped), message; state stopped: idle with a message, stopped in the flat set', async () => {
  const other = await startService({
    env: littleInstallation('deaf-to-stop'),
    limits: { stopAskMs: 200, stopTermMs: 200 },
  });
  await other.upload('support.jsonl', supportRows());
  const start = await other.call('POST', '/api/start_training', quickRequest());
  description.check('POST', '/api/start_training', start);
  hasFields(start.body, { status: 'string', job_id: 'string', message: 'string' });
  assert.equal([start.body.status, start.body.job_id], ['started', 'train_1']);
  const stop = await other.call('POST', '/api/stop_training');
  description.check('POST', '/api/stop_training', stop);
  hasFields(stop.body, { status: 'string', message: 'string' });
  assert.is(stop.body.status, 'stopped');
  const status = (await other.call('GET', '/api/finetune/status')).body;
  assert.equal([status.status, status.progress, status.error], ['idle', 0, null]);
  assert.match(status.message, 'stopped');
  assert.is((await other.call('GET', '/api/training_status')).body.status, 'stopped');
  isFlatError(await other.call('POST', '/api/stop_training'), 409);
  await other.end();
});

// Deletion, last

let dataBeforeDeletion = '';

test('DELETE /api/models/{model_id}: success, message, and the model is gone from both sets', async () => {
  dataBeforeDeletion = temporaryFolder();
  cpSync(join(service.dataDir, 'database'), join(dataBeforeDeletion, 'database'), { recursive: true });
  const { path } = await get('GET', `/api/models/${modelId}`);
  const body = await get('DELETE', `/api/models/${modelId}`);
  hasFields(body, { success: 'boolean', message: 'string' });
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
