/** `--parallel`: several runs at once, each with its own devices. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
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
} from '../service.ts';
import { littleInstallation } from './little-installation.ts';

const run = promisify(execFile);
const args = ['--parallel', '2'];
const request = (changes: object = {}) => quickRequest({ export: 'none', ...changes });

/** The state of each job, oldest first. */
const statesOf = async (service: TestService): Promise<string[]> =>
  (await service.call('GET', '/api/jobs')).body.jobs.map(({ state }: Json) => state).reverse();
const untilStates = (service: TestService, ...wanted: string[]) =>
  until(async () => (await statesOf(service)).join() === wanted.join(), `the jobs are ${wanted.join(', ')}`);

test.after(endAll);

test('two runs have devices of their own, a third waits; all that across a killed server; hone stop ends both', async () => {
  const dataDir = temporaryFolder();
  const env = { ...littleInstallation('polite'), OMP_NUM_THREADS: '' };
  let service = await startService({ dataDir, env, args });
  await service.upload('support.jsonl', supportRows());
  const start = (changes = {}) => service.call('POST', '/api/start_training', request(changes));
  const [first, second, refused] = [await start(), await start(), await start()];
  assert.equal([first?.status, second?.status, refused?.status], [200, 200, 409]);
  assert.match(refused?.body.detail, /2 trainings are already in progress \(train_1, .*; train_2, .*\)/);
  assert.match((await start({ queue: true })).body.message, 'waits');
  await untilStates(service, 'running', 'running', 'queued');
  const read = (job: number, file: string) =>
    JSON.parse(readFileSync(join(dataDir, 'jobs', `train_${job}`, file), 'utf8'));
  assert.equal([read(1, 'devices.json').devices, read(2, 'devices.json').devices], [[0], [1]]);
  assert.ok(Number(read(2, 'given.json').OMP_NUM_THREADS) >= 1);
  assert.is((await service.call('GET', '/api/info')).body.parallel, 2);
  const { body: estimate } = await service.call('POST', '/api/estimate', request());
  // None of the two has made a step, so they will take all that a run like them needs.
  const memory = {
    memory_bytes: Math.round(estimate.memory.total_bytes),
    disk_bytes: Math.round(estimate.disk.total_bytes),
  };
  assert.equal(estimate.available.other_runs, [
    { job_id: 'train_1', ...memory },
    { job_id: 'train_2', ...memory },
  ]);
  assert.match(
    estimate.advice.join('\n'),
    /Another run is using this machine: train_1 will still take about/,
  );

  await service.end('SIGKILL');
  service = await startService({ dataDir, env, args });
  await untilStates(service, 'running', 'running', 'queued');
  assert.is(trainersOf(dataDir).length, 2);
  assert.is((await service.call('POST', '/api/jobs/train_2/stop')).body.state, 'stopped');
  await untilStates(service, 'running', 'stopped', 'running');
  assert.equal(read(3, 'devices.json').devices, [1], 'those that the stopped run had');

  assert.is(await service.end('SIGTERM'), 0);
  assert.match(service.log.at(-1).msg, 'train_1, train_3 continue');
  assert.is(trainersOf(dataDir).length, 2);
  const stop = () =>
    run(process.execPath, [join(root, 'dist', 'main.js'), 'stop'], {
      env: { ...process.env, ...env, SERVICE_DATA_DIR: dataDir },
      cwd: dataDir,
    });
  assert.match((await stop()).stdout, /train_1 is stopped\.\n.*train_3 is stopped\./);

  service = await startService({ dataDir, env, args });
  assert.equal(await statesOf(service), ['stopped', 'stopped', 'stopped']);
  await service.call('POST', '/api/jobs/train_3/resume');
  await service.call('POST', '/api/jobs/train_1/resume');
  await untilStates(service, 'running', 'stopped', 'running');
  // The status shows the one that has been running for longer, and that is the one which is stopped.
  const { body: shown } = await service.call('POST', '/api/stop_training');
  assert.is(shown.status, 'stopped');
  await untilStates(service, 'running', 'stopped', 'stopped');
  await service.call('POST', '/api/jobs/train_2/resume');
  const { stdout } = await stop();
  assert.match(stdout, 'train_1 is stopped.');
  assert.match(stdout, 'train_2 is stopped.');
  await until(() => trainersOf(dataDir).length === 0, 'the trainers are gone');
});

test('a run with two workers waits for both devices, and no later run takes the one that is free before it', async () => {
  const env = { ...littleInstallation('polite'), OMP_NUM_THREADS: '' };
  const service = await startService({ env, args });
  await service.upload('support.jsonl', supportRows());
  const start = async (changes: Json) =>
    service.call('POST', '/api/start_training', request({ queue: true, ...changes }));
  const stop = async (job: number) =>
    assert.is((await service.call('POST', `/api/jobs/train_${job}/stop`)).body.state, 'stopped');
  await start({});
  await untilStates(service, 'running');
  const twice = { workers: 2, gradient_accumulation_steps: 2 };
  const now = await start({ ...twice, queue: false });
  if (now.status === 400) {
    assert.match(now.body.detail, 'this machine has 1 ');
    return;
  }
  assert.is(now.status, 409);
  assert.match(
    now.body.detail,
    /train_1, running\), and too few devices are left for a training with 2 workers/,
  );
  assert.is((await start(twice)).status, 200);
  for (const _ of [3, 4, 5]) assert.is((await start({})).status, 200);
  // A device is free all the time, and every start looks who is next.
  await untilStates(service, 'running', ...Array(4).fill('queued'));
  await stop(1);
  await untilStates(service, 'stopped', 'running', ...Array(3).fill('queued'));
  const held = readFileSync(join(service.dataDir, 'jobs', 'train_2', 'devices.json'), 'utf8');
  assert.equal(JSON.parse(held).devices, [0, 1]);
  // It came last, whatever its number.
  await service.call('POST', '/api/jobs/train_1/resume', { queue: true });
  await stop(2);
  await untilStates(service, 'queued', 'stopped', 'running', 'running', 'queued');
  for (const job of [3, 4, 5, 1]) await stop(job);
});

test('a run that is stopped while its process is being started ends with it', async () => {
  const service = await startService({ env: littleInstallation('polite'), args });
  await service.upload('support.jsonl', supportRows());
  for (const job of Array.from({ length: 8 }, (_, index) => index + 1)) {
    const started = service.call('POST', '/api/start_training', request());
    const path = `/api/jobs/train_${job}`;
    // At once: it starts within milliseconds.
    for (let state = ''; !/^(starting|running)$/.test(state); )
      state = (await service.call('GET', path)).body.state ?? '';
    assert.is((await service.call('POST', `${path}/stop`)).body.state, 'stopped');
    assert.is((await started).status, 200);
  }
  await until(() => trainersOf(service.dataDir).length === 0, 'no trainer is left');
});

test('two real runs at once: one completes while the other goes on', async () => {
  const service = await startService({ warm: true, args });
  await service.upload('support.jsonl', supportRows());
  await service.call('POST', '/api/start_training', request({ max_steps: 100_000 }));
  await untilStates(service, 'running');
  await service.call('POST', '/api/start_training', request({ max_steps: 3 }));
  await untilStates(service, 'running', 'completed');
  const { body: status } = await service.call('GET', '/api/finetune/status');
  assert.is(status.status, 'running');
  await until(
    async () => (await service.call('GET', '/api/training_status')).body.current_step > 0,
    'the first one makes steps, and is the one that is shown',
  );
  assert.is((await service.call('POST', '/api/stop_training')).status, 200);
  assert.equal(await statesOf(service), ['stopped', 'completed']);
});

test.run();
