/** The specification's tables on the system, the choice of a model and the recommended settings, row by row. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Json, quickRequest, startService, temporaryFolder, tinyModel } from '../service.ts';
import {
  ask,
  description,
  flatStatus,
  get,
  hasFields,
  isDetail,
  isFlatError,
  isIssue,
  service,
  tasks,
  trainingStatus,
  useService,
} from './conformance.ts';

useService();

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

// System (flat set)

test('GET /api/info: providers, strategies, tasks (string[]), version', async () => {
  const body = await get('GET', '/api/info');
  hasFields(body, { providers: 'string[]', strategies: 'string[]', tasks: 'string[]', version: 'string' }, [
    'availability',
    'data_dir',
    'engines',
    'http',
  ]);
  assert.equal(body.providers, ['standard', 'accelerated']);
  assert.equal([...body.strategies].sort(), ['distill', 'dpo', 'grpo', 'kto', 'qlora', 'rlhf', 'sft']);
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

// Errors

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

test('403 model or repository not accessible (missing, or no permission): string naming the model', async () => {
  for (const model of ['acme/none', 'acme/secret', 'acme/gated']) {
    isDetail(await ask('POST', '/api/finetune/validate_model', { selected_model: model }), 403, model);
    isDetail(await ask('POST', '/api/finetune/validate_custom_model', { repo_name: model }), 403, model);
    isDetail(await ask('POST', '/api/finetune/set_custom_model', { repo_name: model }), 403, model);
  }
  assert.is((await get('GET', '/api/finetune/session')).selected_model, 'acme/tiny');
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

test.run();
