import { readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  type Json,
  quickRequest,
  root,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  trainersOf,
  until,
  untilEnded,
} from '../service.ts';
import { littleInstallation } from './little-installation.ts';

async function startWith(scenario: string, limits: Record<string, number> = {}): Promise<TestService> {
  const service = await startService({
    limits,
    env: littleInstallation(scenario),
  });
  assert.is((await service.upload('support.jsonl', supportRows())).status, 200);
  const { status, body } = await service.call('POST', '/api/start_training', quickRequest());
  assert.is(status, 200, JSON.stringify(body));
  return service;
}

/** The job after it has ended, with both status answers saying `error`. */
async function failedJob(service: TestService): Promise<Json> {
  const status = await untilEnded(service);
  assert.is(status.status, 'error');
  const { body: job } = await service.call('GET', '/api/jobs/train_1');
  assert.ok(status.error.startsWith(job.error.message), status.error);
  const { body: flat } = await service.call('GET', '/api/training_status');
  assert.is(flat.status, 'error');
  assert.is(flat.error, status.error);
  assert.ok(job.ended_at);
  await until(() => trainersOf(service.dataDir).length === 0, 'no trainer is left', 20_000);
  assert.is((await service.call('POST', '/api/finetune/reset_status')).status, 200);
  assert.is((await service.call('GET', '/api/finetune/status')).body.status, 'idle');
  return job;
}

test.after(endAll);

test('an exit without a result is a failure, even with code 0', async () => {
  const job = await failedJob(await startWith('silent-exit'));
  assert.is(job.state, 'failed');
  assert.is(job.error.exit_code, 0);
  assert.match(job.error.message, 'exit code 0');
});

test('an exception is reported with its exit code and the last line of the log', async () => {
  const job = await failedJob(await startWith('exit-code'));
  assert.is(job.error.exit_code, 3);
  assert.match(job.error.message, 'ValueError: the weights do not fit');
  assert.match(job.error.evidence, 'Traceback');
});

test('a kill is reported with its signal and the hint that memory may have run out', async () => {
  const service = await startWith('killed');
  const job = await failedJob(service);
  assert.is(job.state, 'interrupted');
  assert.is(job.error.code, 'killed');
  assert.is(job.error.exit_signal, 'SIGKILL');
  assert.match(job.error.message, 'possibly out of memory');
  assert.match(job.error.message, 'allocating the last gigabyte');
  assert.is(job.resumable, true);
  const left = readdirSync(join(service.dataDir, 'jobs', 'train_1'));
  assert.equal(
    left.filter((name) => name.startsWith('full-precision')),
    [],
    'nothing large is left',
  );
});

for (const scenario of ['hung', 'stopped']) {
  test(`a trainer without a heartbeat (${scenario}) is stalled and ended`, async () => {
    const job = await failedJob(await startWith(scenario, { heartbeatMs: 700, stopTermMs: 500 }));
    assert.is(job.error.code, 'stalled');
    assert.match(job.error.message, 'no sign of life');
  });
}

test('invalid journal lines are skipped, and later ones are read', async () => {
  const service = await startWith('garbage');
  const job = await failedJob(service);
  assert.is(job.error.code, 'bad_tokenizer');
  assert.match(job.error.message, 'The tokenizer is odd.');
  assert.is(job.error.advice, 'Choose another.');
  assert.is(service.log.filter((record) => record.msg === 'A journal line was skipped').length, 2);
});

test('a trainer that is deaf to the ask and to SIGTERM is killed, and the job is stopped', async () => {
  const service = await startWith('deaf-to-stop', { stopAskMs: 300, stopTermMs: 300 });
  await until(
    async () => (await service.call('GET', '/api/jobs/train_1')).body.state === 'running',
    'it runs',
  );
  const answer = await service.call('POST', '/api/stop_training');
  assert.is(answer.body.status, 'stopped');
  assert.is((await service.call('GET', '/api/training_status')).body.status, 'stopped');
  assert.equal(trainersOf(service.dataDir), []);
});

test('a trainer that has said its end but does not exit keeps that end, and is killed', async () => {
  const job = await failedJob(await startWith('lingers', { lingerMs: 300, stopTermMs: 300 }));
  assert.is(job.error.code, 'unsupported');
});

test('a missing Python environment is reported with the fix', async () => {
  const empty = temporaryFolder();
  for (const name of ['dist', 'src', 'build', 'node_modules'])
    symlinkSync(join(root, name), join(empty, name));
  const service = await startService({ env: { HONE_INSTALL_DIR: empty } });
  assert.is((await service.call('GET', '/api/health')).status, 200);
  const answer = await service.call('GET', '/api/info');
  assert.is(answer.status, 503);
  assert.match(answer.body.detail, 'npm run doctor');
});

test.run();
