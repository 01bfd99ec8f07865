/** What becomes of a training whose export failed, and exporting its model again, with the little trainer. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import WebSocket from 'ws';
import { openStore } from '../../src/db/store.ts';
import { type Description, readDescription } from '../api/description.ts';
import {
  endAll,
  type Json,
  quickRequest,
  root,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  until,
  untilEnded,
} from '../service.ts';
import { letGo, littleInstallation } from './little-installation.ts';

let service: TestService;
let description: Description;
let modelId: string;
const dataDir = temporaryFolder();
const frames: Json[] = [];

async function ask(method: string, path: string, body?: unknown) {
  const answer = await service.call(method, path, body);
  description.check(method, path.replace(modelId, '{model_id}'), answer);
  return answer;
}
const get = async (path: string): Promise<Json> => (await ask('GET', path)).body;
const modelDir = () => join(dataDir, 'model_checkpoints', modelId);
const exportPath = () => `/api/models/${modelId}/export`;
const exportTo = (...quantizations: string[]) => ask('POST', exportPath(), { quantizations });
/** Says how the export that runs goes on. */
const go = (how: string) => letGo(join(dataDir, 'exports', modelId), how);
const partialFiles = () => readdirSync(modelDir()).filter((name) => name.endsWith('.partial'));
const untilRunning = () =>
  until(async () => (await get(exportPath())).underway?.phase === 'convert', 'the export runs');
const untilOver = () =>
  until(async () => (await get(exportPath())).underway === null, 'the export has ended');
const filesOf = (found: Json) => found.files.map((file: Json) => [file.quantization, file.state]);

async function start(scenario: string): Promise<TestService> {
  service = await startService({ dataDir, env: littleInstallation(scenario) });
  return service;
}

/** Trains with the little trainer and returns the job. */
async function train(): Promise<Json> {
  await service.upload('support.jsonl', supportRows());
  const { status, body } = await service.call('POST', '/api/finetune/start_training', quickRequest());
  assert.is(status, 200, JSON.stringify(body));
  await untilEnded(service);
  return (await service.call('GET', `/api/jobs/${body.job_id}`)).body;
}

test.before(async () => {
  await start('export-fails');
  description = await readDescription(service);
  const socket = new WebSocket(`${service.url.replace('http', 'ws')}/ws/training`);
  socket.on('message', (data) => frames.push(JSON.parse(String(data))));
  await until(() => frames.length > 0, 'the socket greeted');
});
test.after(endAll);

test('a training whose export failed is completed and its model is listed, with the reason everywhere', async () => {
  const job = await train();
  modelId = job.model_id;
  assert.equal([job.state, job.progress, job.error, job.trained], ['completed', 100, null, true]);
  const reason = 'model.layers.0.self_attn.q_proj.weight is not what was trained.';
  assert.equal(job.export, {
    ...{ state: 'failed', code: 'verification_failed', reason, advice: 'Export another type.' },
    files: [{ quantization: 'Q8_0', state: 'failed', reason }],
  });
  assert.is(job.metrics.final_loss, 0.5);
  const { message, status } = await get('/api/finetune/status');
  assert.is(status, 'completed');
  assert.is(message, `Training completed. The export to GGUF failed. ${reason} Export another type.`);
  const shown = [await get(`/api/models/${modelId}/lineage`), (await get('/v1/models')).data[0]];
  for (const { export: told } of shown) assert.equal(told, job.export);
  const [file] = JSON.parse(readFileSync(join(modelDir(), 'model.json'), 'utf8')).export.files;
  assert.is(file.reason, reason);
  const { data } = await get('/v1/fine_tuning/jobs');
  assert.is(data[0].status, 'succeeded');
  const events = (await get(`/v1/fine_tuning/jobs/${data[0].id}/events`)).data;
  assert.ok(events.some((event: Json) => event.level === 'warn' && event.message.includes(reason)));
});

test('it is exported to other types, and those that could not be made are told', async () => {
  assert.is((await exportTo()).status, 400);
  assert.is((await exportTo('Q8_0', 'Q8_0')).status, 400);
  assert.is((await exportTo('Q9')).status, 400);
  const begun = await exportTo('Q4_K_M', 'F16');
  assert.is(begun.status, 202, JSON.stringify(begun.body));
  assert.equal(begun.body.underway.quantizations, ['Q4_K_M', 'F16']);
  await untilRunning();
  const spec = JSON.parse(readFileSync(join(dataDir, 'exports', modelId, 'spec.json'), 'utf8'));
  assert.equal(spec.export, { quantizations: ['Q4_K_M', 'F16'], required: true });
  const { files } = await get(`/api/models/${modelId}/files`);
  assert.not.ok(
    files.some(({ name }: Json) => name.includes('.partial')),
    'nothing incomplete is listed',
  );

  for (const second of [await exportTo('F16'), await ask('DELETE', `/api/models/${modelId}`)]) {
    assert.is(second.status, 409, JSON.stringify(second.body));
    assert.match(second.body.detail, 'is being exported to Q4_K_M, F16');
  }

  go('one');
  await untilOver();
  const found = await get(exportPath());
  assert.is(found.state, 'failed');
  assert.equal(filesOf(found), [
    ['Q4_K_M', 'done'],
    ['F16', 'failed'],
  ]);
  const [{ quantization: _, state: _made, reason: _none, ...about }] = found.files;
  assert.equal(about, {
    ...{ name: 'model-Q4_K_M.gguf', bytes: 5, verified: true },
    ...{ loss_increase: 0.003, mean_kl: 0.0012, agreement: 0.994 },
  });
  assert.equal(partialFiles(), []);
  assert.equal(readdirSync(join(dataDir, 'exports')), []);
  const told = frames.filter(({ type, model_id }) => type === 'export' && model_id === modelId);
  assert.equal([...new Set(told.map(({ state }) => state))], ['waiting', 'running', 'failed']);
  assert.ok(told.some(({ phase, progress }) => phase === 'convert' && progress === 0.5));
  assert.equal(filesOf(told.at(-1).export), filesOf(found));

  await exportTo('Q8_0');
  await untilRunning();
  go('all');
  await untilOver();
  const [job] = (await get('/api/jobs')).jobs;
  assert.is(job.export.state, 'done');
  assert.equal(filesOf(job.export), [
    ['Q4_K_M', 'done'],
    ['Q8_0', 'done'],
  ]);
  assert.is((await get(`/api/models/${modelId}/lineage`)).export.state, 'done');
});

test('it is cancelled, refused or killed without a trace', async () => {
  const before = await get(exportPath());
  await exportTo('F16');
  await untilRunning();
  assert.is((await ask('DELETE', exportPath())).status, 200);
  assert.equal(await get(exportPath()), before);
  assert.equal(partialFiles(), []);
  await until(
    () => frames.some(({ type, state }) => type === 'export' && state === 'cancelled'),
    'it is told',
  );
  assert.is((await ask('DELETE', exportPath())).status, 409, 'nothing is underway');

  for (const [how, code] of [
    ['refuse', 'verification_failed'],
    ['die', 'killed'],
  ] as const) {
    await exportTo('F16');
    await untilRunning();
    go(how);
    await untilOver();
    const found = await get(exportPath());
    assert.equal([found.state, found.code], ['failed', code]);
    assert.equal(filesOf(found), [
      ['Q4_K_M', 'done'],
      ['Q8_0', 'done'],
      ['F16', 'failed'],
    ]);
    assert.equal(partialFiles(), []);
  }
});

test('a service that is killed during an export leaves nothing partial after its next start', async () => {
  await exportTo('Q6_K');
  await untilRunning();
  await service.end('SIGKILL');
  assert.equal(partialFiles(), ['export.partial']);
  await start('export-fails');
  assert.equal(partialFiles(), []);
  assert.equal(readdirSync(join(dataDir, 'exports')), []);
  assert.equal((await get(exportPath())).underway, null);

  await exportTo('Q6_K');
  await untilRunning();
  await service.end();
  assert.equal(partialFiles(), [], 'one that is ended cancels it');
});

test('an export waits for a training, and can be cancelled before its turn', async () => {
  await start('polite');
  const { body } = await service.call('POST', '/api/finetune/start_training', quickRequest());
  const { body: begun } = await exportTo('Q5_K_M');
  assert.is(begun.underway.state, 'waiting');
  assert.is((await ask('DELETE', exportPath())).status, 200);
  assert.is((await get(exportPath())).underway, null);
  await exportTo('Q5_K_M');
  await service.call('POST', `/api/jobs/${body.job_id}/stop`);
  // The real trainer refuses the little one's adapter.
  await untilOver();
  assert.is((await get(exportPath())).state, 'failed');
  await service.end();
});

for (const [scenario, code] of [
  ['export-killed', 'killed'],
  ['export-ends-the-run', 'verification_failed'],
] as const) {
  test(`a run that ends during its export (${scenario}) is completed with its adapter`, async () => {
    await start(scenario);
    const job = await train();
    assert.equal([job.state, job.export.state, job.export.code], ['completed', 'failed', code]);
    assert.equal(filesOf(job.export), [['Q8_0', 'failed']]);
    assert.is(job.metrics.final_loss, 0.5);
    assert.not.ok(existsSync(join(dataDir, 'jobs', job.job_id, 'export.partial')));
    assert.ok(
      (await service.call('GET', '/api/models/')).body.some((one: Json) => one.model_id === job.model_id),
    );
    await service.end();

    // Its journal alone does not tell that it was completed.
    rmSync(join(dataDir, 'database'), { recursive: true });
    await start(scenario);
    // Others that are known again count as running until their trainers are found to be gone.
    await until(
      async () => (await service.call('GET', '/api/jobs?state=running')).body.jobs.length === 0,
      'the jobs are known again',
    );
    const again = (await service.call('GET', `/api/jobs/${job.job_id}`)).body;
    assert.equal([again.state, again.export, again.metrics], [job.state, job.export, job.metrics]);
    await service.end();
  });
}

test('a kept job that an earlier version ended after its last step completes when it is resumed', async () => {
  const folder = join(dataDir, 'jobs', 'train_1');
  mkdirSync(join(folder, 'artifacts', 'adapter'), { recursive: true });
  writeFileSync(join(folder, 'artifacts', 'adapter', 'adapter_config.json'), '{}');
  writeFileSync(join(folder, 'artifacts', 'template.json'), '{"source":"hone"}');
  const store = openStore(join(dataDir, 'database', 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  const model = store.models.byModelId(modelId);
  if (model !== null) store.models.remove(model.id);
  store.jobs.update(1, { state: 'failed', errorCode: 'verification_failed', errorMessage: 'It differs.' });
  store.close();
  rmSync(modelDir(), { recursive: true });
  await start('export-fails');
  const kept = (await service.call('GET', '/api/jobs/train_1')).body;
  assert.equal([kept.state, kept.trained, kept.resumable], ['failed', true, true]);
  assert.is((await service.call('POST', '/api/jobs/train_1/resume')).status, 200);
  await untilEnded(service);
  const job = (await service.call('GET', '/api/jobs/train_1')).body;
  assert.equal([job.state, job.export.state], ['completed', 'done']);
  assert.equal(filesOf(await get(exportPath())), [['Q8_0', 'done']]);
});

test.run();
