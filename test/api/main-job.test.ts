import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import WebSocket from 'ws';
import { type LoopbackHub, startLoopbackHub } from '../hub/loopback.ts';
import {
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

let service: TestService;
let hub: LoopbackHub;
const frames: Json[] = [];

test.before(async () => {
  hub = await startLoopbackHub();
  hub.addModel('someone/small', tinyModel('llama'));
  const env = { HF_ENDPOINT: hub.url, HF_HOME: temporaryFolder(), HF_HUB_OFFLINE: '', HUB_TOKEN: '' };
  service = await startService({ warm: true, env });
  const socket = new WebSocket(`${service.url.replace('http', 'ws')}/ws/training`);
  socket.on('message', (data) => frames.push(JSON.parse(data.toString())));
  await until(() => frames.length > 0, 'the snapshot came');
});
test.after(async () => {
  await endAll();
  await hub.close();
});

test('the first frame on a socket is a snapshot', () => {
  assert.is(frames[0].type, 'snapshot');
  assert.is(frames[0].state, 'idle');
});

test('upload, train, read, generate and delete, in both sets', async () => {
  const uploaded = await service.upload('support.jsonl', supportRows());
  assert.is(uploaded.status, 200);
  assert.is(uploaded.body.status, 'uploaded');
  assert.is(uploaded.body.num_examples, 400);
  assert.equal(uploaded.body.validation.valid, true);
  assert.equal(uploaded.body.validation.errors, []);

  const start = await service.call('POST', '/api/finetune/start_training', quickRequest());
  assert.equal(
    { status: start.status, success: start.body.success, job: start.body.job_id },
    { status: 200, success: true, job: 'train_1' },
  );
  const second = await service.call('POST', '/api/start_training', quickRequest());
  assert.is(second.status, 409);
  assert.is(second.body.status_code, 409);

  const seen: Json[] = [];
  const status = await until(async () => {
    const [face1, face2] = await Promise.all([
      service.call('GET', '/api/finetune/status'),
      service.call('GET', '/api/training_status'),
    ]);
    seen.push(face2.body);
    return face1.body.status === 'running' ? null : face1.body;
  }, 'the training ended');
  assert.equal({ ...status, message: '' }, { status: 'completed', progress: 100, message: '', error: null });
  const running = seen.filter((answer) => answer.status === 'training');
  assert.ok(running.length > 3);
  const progresses = running.map((answer) => answer.progress);
  assert.equal(
    progresses,
    [...progresses].sort((a, b) => a - b),
    'progress never falls',
  );
  const ended = (await service.call('GET', '/api/training_status')).body;
  assert.is(ended.status, 'completed');
  assert.is(ended.current_step, 6);
  assert.is(ended.total_steps, 6);
  assert.type(ended.loss, 'number');

  const { models } = (await service.call('GET', '/api/models')).body;
  const list = (await service.call('GET', '/api/models/')).body;
  assert.is(models.length, 1);
  assert.is(list.length, 1);
  assert.is(models[0].name, list[0].name);
  const { id } = models[0];
  const { model_id: modelId, path } = list[0];
  const detail = (await service.call('GET', `/api/models/${id}`)).body;
  assert.is(detail.training_params.batch_size, 2);
  assert.type(detail.metrics.final_loss, 'number');
  const longDetail = (await service.call('GET', `/api/models/${modelId}`)).body;
  assert.is(longDetail.config.lora_r, 16);
  assert.is(longDetail.provider, 'standard');
  const byTask = (await service.call('GET', '/api/models/task/text-generation')).body;
  assert.equal(Object.keys(byTask[0]).sort(), ['base_model', 'created_at', 'model_id', 'name', 'task']);
  assert.equal((await service.call('GET', '/api/models/task/summarization')).body, []);

  const where = (await service.call('GET', `/api/playground/model_path?model_id=${modelId}`)).body;
  assert.is(where.model_id, modelId);
  assert.ok(where.model_path.endsWith('.gguf') && existsSync(where.model_path));
  const prompt = 'My parcel has not come.';
  const one = await service.call('POST', '/api/playground/new', {
    model_id: modelId,
    prompt,
    max_length: 8,
    temperature: 0,
    top_p: 1,
  });
  const two = await service.call('POST', '/api/playground/generate', {
    model_id: id,
    prompt,
    max_new_tokens: 8,
    temperature: 0,
    top_p: 1,
  });
  assert.is(one.status, 200, JSON.stringify(one.body));
  assert.is(one.body.prompt, prompt);
  assert.is(one.body.generated_text, two.body.generated_text, 'greedy answers are equal in both sets');
  assert.ok(one.body.tokens_generated >= 1 && one.body.tokens_generated <= 8);
  assert.ok(Number.isInteger(one.body.generation_time_ms));

  const job = (await service.call('GET', '/api/jobs/train_1')).body;
  assert.is(job.verification.passed, true);
  assert.is(job.verification.tokens_equal, 1);
  const logs = readdirSync(join(service.dataDir, 'training_logs', 'train_1'), { recursive: true }).map(
    String,
  );
  assert.ok(
    logs.some((name) => name.includes('tfevents')),
    'there is a TensorBoard log',
  );

  const gone = await service.call('DELETE', `/api/models/${id}`);
  assert.is(gone.body.status, 'deleted');
  assert.not(existsSync(path));
  assert.is((await service.call('DELETE', `/api/models/${modelId}`)).status, 404);
  assert.equal((await service.call('GET', '/api/models/')).body, []);
});

test('every step was told on the socket, in order, and stored', async () => {
  const metrics = frames.filter((frame) => frame.type === 'metrics' && frame.kind === 'train');
  assert.equal(
    metrics.map((frame) => frame.step),
    [1, 2, 3, 4, 5, 6],
  );
  const numbers = frames.map((frame) => frame.seq);
  assert.equal(
    numbers,
    [...numbers].sort((a, b) => a - b),
  );
  const states = frames.filter((frame) => frame.type === 'status').map((frame) => frame.state);
  assert.equal([...new Set(states)], ['queued', 'starting', 'running', 'completed']);
  assert.ok(frames.some((frame) => frame.type === 'export' && frame.kind === 'gguf'));
  assert.ok(frames.some((frame) => frame.type === 'model' && frame.action === 'created'));
  const { events } = (await service.call('GET', '/api/jobs/train_1/events')).body;
  const statuses = frames.filter((frame) => frame.job_id === 'train_1' && frame.type === 'status');
  const changed = statuses.filter(
    ({ state, phase }, at) => state !== statuses[at - 1]?.state || phase !== statuses[at - 1]?.phase,
  );
  assert.equal(
    events,
    frames.filter(
      (frame) =>
        changed.includes(frame) ||
        (frame.job_id === 'train_1' && (['log', 'export'].includes(frame.type) || frame.kind === 'eval')),
    ),
  );
  const { train } = (await service.call('GET', '/api/jobs/train_1/metrics')).body;
  assert.equal(
    train.map((point: Json) => point.loss),
    metrics.map((frame) => frame.loss),
  );
});

test('a socket that reconnects gets the frames that it missed', async () => {
  const middle = frames[Math.floor(frames.length / 2)].seq;
  const replayed: Json[] = [];
  const socket = new WebSocket(`${service.url.replace('http', 'ws')}/ws/training?since=${middle}`);
  socket.on('message', (data) => replayed.push(JSON.parse(data.toString())));
  const last = frames.filter((frame) => frame.type === 'model').at(-1).seq;
  await until(
    () => replayed.some((frame) => frame.seq === last && frame.type !== 'snapshot'),
    'the last frame came again',
  );
  socket.close();
  const kept = frames.filter((frame) => frame.seq > middle && !['progress', 'gpu'].includes(frame.type));
  const again = replayed.filter((frame) => !['snapshot', 'progress', 'gpu'].includes(frame.type));
  assert.equal(again, kept);
});

test('a base model with its own chat template keeps it', async () => {
  await service.call('POST', '/api/finetune/reset_status');
  const request = quickRequest({
    ...{ model_name: tinyModel('qwen3', 'chatml'), max_steps: 2 },
    export: { quantizations: ['Q8_0', 'Q4_K_M'] },
  });
  assert.is((await service.call('POST', '/api/start_training', request)).status, 200);
  assert.is((await untilEnded(service)).status, 'completed');
  const [model] = (await service.call('GET', '/api/models/')).body;
  const answer = await service.call('POST', '/api/playground/new', {
    model_id: model.model_id,
    prompt: 'Hello',
    max_length: 4,
    temperature: 0,
  });
  assert.is(answer.status, 200, JSON.stringify(answer.body));
  assert.is((await service.call('GET', '/api/jobs')).body.jobs[0].verification.tokens_equal, 1);
});

test('another type is made of the file, and its files are downloaded whole or in part', async () => {
  const [model] = (await service.call('GET', '/api/models/')).body;
  const path = `/api/models/${model.model_id}`;
  assert.is((await service.call('POST', `${path}/quantize`, { type: 'Q9' })).status, 400);
  assert.is((await service.call('POST', `${path}/quantize`, { type: 'Q8_0' })).status, 409);
  assert.is((await service.call('POST', `${path}/quantize`, { type: 'F16' })).status, 400);
  assert.is((await service.call('POST', `${path}/quantize`, { type: 'Q4_0' })).status, 200);
  const isMade = ({ type, quantizations, state }: Json) =>
    type === 'export' && quantizations?.[0] === 'Q4_0' && state === 'completed';
  await until(() => frames.some(isMade), 'the type was made');
  // What training found to matter is kept, and used for the small type alone.
  const exported = (await service.call('GET', `${path}/export`)).body.files as Json[];
  const tokensOf = (type: string) =>
    exported.find(({ quantization }) => quantization === type)?.importance_tokens;
  assert.ok(tokensOf('Q4_0') > 100, `of ${tokensOf('Q4_0')} tokens`);
  assert.equal([tokensOf('Q4_K_M'), tokensOf('Q8_0')], [tokensOf('Q4_0'), undefined]);
  const { files } = (await service.call('GET', `${path}/files`)).body;
  assert.ok(files.some((file: Json) => file.name === 'importance.gguf' && file.bytes > 1000));
  const made = files.find((file: Json) => file.name === 'model-Q4_0.gguf');
  assert.ok(files.some((file: Json) => file.name === 'adapter/adapter_model.safetensors'));
  const url = `${service.url}${path}/files/${encodeURIComponent(made.name)}`;
  const whole = Buffer.from(await (await fetch(url)).arrayBuffer());
  assert.is(whole.length, made.bytes);
  assert.is(whole.toString('latin1', 0, 4), 'GGUF');
  const part = await fetch(url, { headers: { range: 'bytes=4-7' } });
  assert.is(part.status, 206);
  assert.ok(Buffer.from(await part.arrayBuffer()).equals(whole.subarray(4, 8)));
  assert.is((await fetch(url, { headers: { range: `bytes=${made.bytes}-` } })).status, 416);
  for (const name of ['..%2F..%2Fdatabase%2Fhone.sqlite', '%2Fetc%2Fpasswd', 'nothing']) {
    assert.is((await service.call('GET', `${path}/files/${name}`)).status, 404, name);
  }
});

test('figures for Prometheus and the page of the API', async () => {
  const { body } = await service.call('GET', '/metrics');
  assert.match(body, 'hone_info{version="v2"} 1');
  assert.match(body, 'hone_jobs{state="completed"} 2');
  assert.match(body, 'hone_models 1');
  const docs = await service.call('GET', '/api/docs');
  assert.match(docs.headers.get('content-type') ?? '', 'text/html');
  assert.match(docs.body, '/api/finetune/start_training');
});

test('export none trains without a GGUF, and the playground answers all the same', async () => {
  assert.is(
    (await service.call('POST', '/api/start_training', quickRequest({ export: 'none', max_steps: 2 })))
      .status,
    200,
  );
  assert.is((await untilEnded(service)).status, 'completed');
  const [model] = (await service.call('GET', '/api/models/')).body;
  const answer = await service.call('POST', '/api/playground/new', {
    model_id: model.model_id,
    prompt: 'Hello',
    max_length: 4,
  });
  assert.is(answer.status, 200, JSON.stringify(answer));
  assert.type(answer.body.generated_text, 'string');
});

test('every frame is one of those that the description knows, and a job’s are told again from the database', async () => {
  const request = quickRequest({
    export: 'none',
    max_steps: 4,
    eval_split: 0.1,
    eval_steps: 2,
    save_steps: 2,
  });
  const { job_id: jobId } = (await service.call('POST', '/api/start_training', request)).body;
  assert.is((await untilEnded(service)).status, 'completed');
  await until(
    () => frames.some(({ type, job_id }) => type === 'model' && job_id === jobId),
    'its end was told',
  );
  const { verdict } = (await service.call('GET', `/api/jobs/${jobId}`)).body;
  const rows: Json[] = supportRows()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal([verdict.verified, verdict.reason, verdict.prompts.length], [null, null, 3]);
  assert.ok(verdict.loss.base > 0 && verdict.metric.name === 'perplexity' && verdict.metric.base > 1);
  for (const { prompt, reference, base, tuned, checkpoints, file } of verdict.prompts) {
    const answers = [base, tuned, ...checkpoints.map(({ text }: Json) => text)];
    for (const answer of answers) assert.type(answer, 'string');
    assert.equal([checkpoints.map(({ step }: Json) => step), file], [[2, 4], null]);
    assert.ok(
      rows.some(({ input, output }) => input === prompt && output === reference),
      prompt,
    );
  }
  const analysed = await service.call('POST', '/api/datasets/support.jsonl/analysis', {});
  assert.is(analysed.status, 200, JSON.stringify(analysed.body));
  const imported = await service.call('POST', '/api/imports', { dataset: 'support.jsonl' });
  assert.is(imported.status, 200, JSON.stringify(imported.body));
  await until(() => frames.some(({ type }) => type === 'import'), 'an import is told');
  const downloaded = await service.call('POST', '/api/base_models/downloads', { model: 'someone/small' });
  assert.is(downloaded.status, 200, JSON.stringify(downloaded.body));
  await until(() => frames.some(({ type }) => type === 'download'), 'a download is told');
  const space = { learning_rate: { choices: [1e-3, 1e-2] } };
  const swept = await service.call('POST', '/api/sweeps', { ...request, space, trials: 2 });
  assert.is(swept.status, 200, JSON.stringify(swept.body));
  assert.is((await service.call('POST', '/api/sweeps/sweep_1/stop')).status, 200);
  assert.is((await service.call('DELETE', '/api/sweeps/sweep_1')).status, 200);
  const scored = { dataset: 'support.jsonl', base_model: tinyModel('llama'), rows: 1 };
  assert.is((await service.call('POST', '/api/evaluations', scored)).status, 200);
  assert.is((await service.call('DELETE', '/api/evaluations/eval_1')).status, 200);
  const before = (await service.call('GET', '/api/jobs')).body.jobs[1].job_id;
  assert.is((await service.call('PATCH', `/api/jobs/${before}`, { notes: 'told' })).status, 200);
  assert.is((await service.call('DELETE', `/api/jobs/${before}`)).status, 200);
  await until(
    () => frames.some(({ state, job_id }) => state === 'deleted' && job_id === before),
    'it is told',
  );
  const document = (await service.call('GET', '/api/openapi.json')).body;
  const ajv = new Ajv2020({ strict: false });
  const known: Record<string, number> = {};
  const validators = Object.entries<Json>(document.components.schemas)
    .filter(([name]) => name.endsWith('Frame'))
    .map(([name, schema]) => ({ name, validate: ajv.compile(schema) }));
  const again: Json[] = [];
  const socket = new WebSocket(`${service.url.replace('http', 'ws')}/ws/training?since=0`);
  socket.on('message', (data) => again.push(JSON.parse(data.toString())));
  const last = frames.filter(({ job_id }) => job_id === jobId).at(-1).seq;
  await until(() => again.some(({ seq, type }) => seq === last && type !== 'snapshot'), 'it was told again');
  socket.close();
  for (const frame of [...frames, ...again]) {
    const fitting = validators.filter(({ validate }) => validate(frame)).map(({ name }) => name);
    assert.is(fitting.length, 1, `${JSON.stringify(frame)} is one of them, not of ${fitting}`);
    known[fitting[0] as string] = (known[fitting[0] as string] ?? 0) + 1;
  }
  assert.equal(Object.keys(known).sort(), validators.map(({ name }) => name).sort(), 'each kind was seen');
  const ofJob = (list: Json[]) => list.filter(({ job_id, type }) => job_id === jobId && type !== 'snapshot');
  assert.equal(ofJob(again), ofJob(frames));
  const kinds = new Set(ofJob(frames).map(({ type, kind }) => (type === 'log' ? kind : type)));
  for (const kind of ['status', 'progress', 'metrics', 'checkpoint', 'sample', 'export', 'model'])
    assert.ok(kinds.has(kind), kind);
});

test.run();
