/** `workers` in a training request: as many processes, or a refusal that says how many there can be. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
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
});

test('more workers than there are devices, or than a step can be shared by, are refused with the numbers', async () => {
  const { status, body } = await start({ workers: 64, gradient_accumulation_steps: 64 });
  assert.is(status, 400);
  assert.match(body.detail, /64 workers need as many cores, and this machine has \d+ cores?/);
  assert.match((await start({ workers: 65 })).body.detail, 'workers');
  const { body: undivided } = await start({ workers: 3, per_device_train_batch_size: 2 });
  assert.match(undivided.detail, 'equally; set workers to one of 1, 2');
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
