/** The specification's tables on invalid datasets, limits, errors and trainings that fail, row by row. */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { littleInstallation } from '../jobs/little-installation.ts';
import { quickRequest, startService, supportRows, untilEnded } from '../service.ts';
import {
  ask,
  description,
  flatStatus,
  get,
  hasFields,
  isDetail,
  isFlatError,
  service,
  tasks,
  trainingStatus,
  useService,
} from './conformance.ts';

useService();

test.before(async () => {
  await service.upload('support.jsonl', supportRows());
});

// Datasets

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

// Limits

test('Database connection pool: 1,000 requests at once are all answered; Rate limiting: none', async () => {
  const paths = ['/api/models', '/api/models/', '/api/finetune/session', '/api/datasets', '/api/jobs'];
  const answers = await Promise.all(
    Array.from({ length: 1000 }, (_, index) => service.call('GET', paths[index % paths.length] as string)),
  );
  assert.ok(answers.every(({ status }) => status === 200));
});

// Errors, /api/finetune set

test('400 dataset validation failure: detail is a string', async () => {
  const answer = await ask(
    'POST',
    '/api/finetune/start_training',
    quickRequest({ dataset: 'fault-0.jsonl' }),
  );
  isDetail(answer, 400, 'Dataset validation failed');
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

// Errors, flat set

test('400 invalid parameters: error, detail, status_code', async () => {
  const start = await ask('POST', '/api/start_training', quickRequest({ task: 'poetry' }));
  isFlatError(start, 400, ...tasks);
  const generate = await ask('POST', '/api/playground/generate', { model_id: 'one', prompt: 'x' });
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
      if (/^\/api\/(finetune\/|hub\/push$)/.test(real)) isDetail(answer, 405, other);
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
  const options = await fetch(`${service.url}/api/models/1`, { method: 'OPTIONS' });
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

test.run();
