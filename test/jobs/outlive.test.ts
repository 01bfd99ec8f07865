import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
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
import { journalOf, stepsOf, upTo } from './journal.ts';

const run = promisify(execFile);
const atStep = (service: TestService, step: number) =>
  until(
    async () => (await service.call('GET', '/api/training_status')).body.current_step >= step,
    `step ${step} was reached`,
  );

test.after(endAll);

test('a hundred starts at once: one run; stop saves, resume goes on, and the series has each step once', async () => {
  const service = await startService({ warm: true });
  await service.upload('support.jsonl', supportRows());
  const request = quickRequest({ max_steps: 3, export: 'none' });
  const paths = ['/api/start_training', '/api/finetune/start_training'];
  const answers = await Promise.all(
    upTo(100).map((index) => service.call('POST', paths[index % 2] as string, request)),
  );
  assert.is(answers.filter(({ status }) => status === 200).length, 1);
  assert.is(answers.filter(({ status }) => status === 409).length, 99);
  assert.is((await service.call('GET', '/api/jobs')).body.total, 1);
  assert.is((await untilEnded(service)).status, 'completed');

  const steps = 2_000;
  const { body } = await service.call(
    'POST',
    '/api/start_training',
    quickRequest({ max_steps: steps, export: 'none' }),
  );
  await atStep(service, 5);
  const stopped = await service.call('POST', '/api/stop_training');
  assert.is(stopped.status, 200);
  assert.is(stopped.body.status, 'stopped');
  const { body: flat } = await service.call('GET', '/api/training_status');
  assert.is(flat.status, 'stopped');
  const { body: other } = await service.call('GET', '/api/finetune/status');
  assert.is(other.status, 'idle');
  assert.match(other.message, 'resumed');
  await until(() => trainersOf(service.dataDir).length === 0, 'the trainer is gone');
  const at = flat.current_step;
  assert.ok(at >= 5 && at < steps);

  assert.is((await service.call('POST', `/api/jobs/${body.job_id}/resume`)).status, 200);
  assert.is((await service.call('POST', `/api/jobs/${body.job_id}/resume`)).status, 409);
  await atStep(service, at + 5);
  assert.equal(
    journalOf(service.dataDir, body.job_id).findLast((line) => line.type === 'hello').resumed_from_step,
    at,
  );
  await service.call('POST', '/api/stop_training');
  const series = await stepsOf(service, body.job_id);
  assert.equal(series, upTo(series.length));
  assert.is((await service.call('DELETE', `/api/jobs/${body.job_id}`)).status, 200);
  assert.is((await service.call('GET', `/api/jobs/${body.job_id}`)).status, 404);
});

test('SIGTERM ends the server but not the training, and the log says so; hone stop ends the training, with and without a server', async () => {
  const dataDir = temporaryFolder();
  const first = await startService({ dataDir, warm: true });
  await first.upload('support.jsonl', supportRows());
  await first.call('POST', '/api/start_training', quickRequest({ max_steps: 5_000, export: 'none' }));
  await atStep(first, 2);
  assert.is(await first.end('SIGTERM'), 0);
  assert.match(first.log.at(-1).msg, 'train_1 continues');
  assert.match(first.log.at(-1).msg, 'hone stop');
  assert.is(trainersOf(dataDir).length, 1);

  const stop = () =>
    run(process.execPath, [join(root, 'dist', 'main.js'), 'stop'], {
      env: { ...process.env, SERVICE_DATA_DIR: dataDir },
      cwd: dataDir,
    });
  assert.match((await stop()).stdout, 'train_1 is stopped');
  await until(() => trainersOf(dataDir).length === 0, 'the trainer is gone');

  const second = await startService({ dataDir });
  assert.is((await second.call('GET', '/api/training_status')).body.status, 'stopped');
  await second.call('POST', '/api/jobs/train_1/resume');
  await until(
    async () => (await second.call('GET', '/api/jobs/train_1')).body.state === 'running',
    'it runs again',
  );
  assert.match((await stop()).stdout, 'stopped');
  assert.is((await second.call('GET', '/api/training_status')).body.status, 'stopped');
  const nothing = await stop().catch((error) => error);
  assert.is(nothing.code, 1);
  assert.match(nothing.stdout, 'No training');
});

test('one server per data directory and per port', async () => {
  const service = await startService();
  const port = new URL(service.url).port;
  const again = await startService({ dataDir: service.dataDir }).catch((error) => error);
  assert.match(again.message, 'ended with 1');
  assert.match(again.message, `process ${service.process.pid}`);
  assert.match(again.message, service.url);
  const same = await startService({ args: ['--port', port] }).catch((error) => error);
  assert.match(same.message, 'ended with 1');
  assert.match(same.message, `Port ${port}`);
  assert.match(same.message, `process ${service.process.pid}`);
});

test.run();
