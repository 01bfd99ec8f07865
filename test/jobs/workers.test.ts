/** `workers` in a training request: as many processes, or a refusal that says how many there can be. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  trainersOf,
  until,
  untilEnded,
} from '../service.ts';

let service: TestService;
test.before(async () => {
  service = await startService({ warm: true });
  await service.upload('support.jsonl', supportRows());
});
test.after(endAll);

const start = (changes: Json) =>
  service.call('POST', '/api/start_training', quickRequest({ export: 'none', ...changes }));

test('two workers train one job, or the machine has no two cores and the refusal says so', async () => {
  const answer = await start({ workers: 2, per_device_train_batch_size: 2, gradient_accumulation_steps: 2 });
  if (answer.status === 400) {
    assert.match(answer.body.detail, 'this machine has 1 core');
    return;
  }
  assert.is(answer.status, 200, JSON.stringify(answer.body));
  assert.is((await untilEnded(service)).status, 'completed');
  const { body: job } = await service.call('GET', '/api/jobs/train_1');
  assert.is(job.settings.workers, 2);
  assert.equal(job.engine, { name: 'local', nodes: null });
});

test('more workers than there are devices, or than a step can be shared by, are refused with the numbers', async () => {
  const { status, body } = await start({ workers: 64, gradient_accumulation_steps: 64 });
  assert.is(status, 400);
  assert.match(body.detail, /64 workers need as many cores, and this machine has \d+ cores?/);
  assert.match((await start({ workers: 65 })).body.detail, 'workers');
  const { body: undivided } = await start({ workers: 3, per_device_train_batch_size: 2 });
  assert.match(undivided.detail, 'equally; set workers to one of 1, 2');
});

/** The processes of a run, by its process group. */
function processesOf(group: number): number[] {
  const listed = execFileSync('ps', ['-axo', 'pid=,pgid=,stat='], { encoding: 'utf8' });
  return listed
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, its, state]) => Number(its) === group && !state?.startsWith('Z'))
    .map(([pid]) => Number(pid));
}

test('nothing stays of a run whose first rank was killed, and it can be resumed; discard leaves nothing at all', async () => {
  const answer = await start({
    workers: 2,
    gradient_accumulation_steps: 2,
    max_steps: 100_000,
    save_steps: 2,
  });
  if (answer.status === 400) return;
  const { job_id: id } = (await service.call('GET', '/api/jobs')).body.jobs[0];
  const folder = join(service.dataDir, 'jobs', id);
  const journal = () => readFileSync(join(folder, 'journal.jsonl'), 'utf8');
  const stateOf = async () => (await service.call('GET', `/api/jobs/${id}`)).body.state;
  /** The first rank, once there are two that train. */
  const untilTraining = async () => {
    await until(() => existsSync(join(folder, 'ranks', 'store')), 'the ranks meet', 600_000);
    await until(() => journal().includes('"type":"checkpoint"'), 'a checkpoint is made', 600_000);
    const [first] = trainersOf(service.dataDir) as [number];
    // The program that compares renderings is one of them until the second rank starts.
    await until(() => processesOf(first).length === 2, 'there are two ranks and nothing else');
    return first;
  };
  const killed = await untilTraining();
  process.kill(killed, 'SIGKILL');
  await until(async () => (await stateOf()) === 'interrupted', 'the run is interrupted');
  assert.not(existsSync(join(folder, 'ranks')));
  await until(() => processesOf(killed).length === 0, 'no rank is left');

  assert.is((await service.call('POST', `/api/jobs/${id}/resume`)).status, 200);
  const second = await untilTraining();
  assert.is((await service.call('POST', `/api/jobs/${id}/stop`, { discard: true })).body.state, 'stopped');
  await until(() => processesOf(second).length === 0, 'no rank is left');
  assert.not(existsSync(folder));
  assert.is((await start({})).status, 200);
  assert.is((await untilEnded(service)).status, 'completed');
});

test('the estimate counts the memory of every worker', async () => {
  const memory = async (workers: number) => {
    const asked = quickRequest({ workers, gradient_accumulation_steps: 2, device: 'cpu' });
    return (await service.call('POST', '/api/estimate', asked)).body.memory;
  };
  const [one, two] = [await memory(1), await memory(2)];
  if (two === undefined) return;
  assert.is(two.weights_bytes, 2 * one.weights_bytes);
  assert.is(two.total_bytes, 2 * one.total_bytes);
});

test.run();
