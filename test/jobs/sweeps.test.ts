/** `/api/sweeps`: trials are proposed one by one, compared and culled, also across a killed service. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Description, readDescription } from '../api/description.ts';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  until,
} from '../service.ts';
import { littleInstallation } from './little-installation.ts';

const space = { learning_rate: { low: 1e-5, high: 1e-1, log: true } };
const request = (changes: object = {}) => quickRequest({ eval_split: 0.1, max_steps: 27, space, ...changes });
const dataDir = temporaryFolder();
const env = { ...littleInstallation('evaluates'), HONE_TEST_PACE_MS: '20' };
let service: TestService;
let description: Description;

async function ask(method: string, path: string, body?: unknown) {
  const answer = await service.call(method, path, body);
  description.check(method, path, answer);
  return answer;
}
const sweepOf = async (name: string): Promise<Json> => (await ask('GET', `/api/sweeps/${name}`)).body;
const untilOver = (name: string) =>
  until(
    async () => {
      const sweep = await sweepOf(name);
      return sweep.state === 'running' ? null : sweep;
    },
    `${name} has ended`,
    600_000,
  );
const restart = async () => {
  await service.end('SIGKILL');
  service = await startService({ dataDir, env });
};

test.before(async () => {
  service = await startService({ dataDir, env });
  description = await readDescription(service);
  await service.upload('support.jsonl', supportRows());
});
test.after(endAll);

test('a sweep survives a killed service within and between trials, finds the same as one that was not disturbed, and culls', async () => {
  const { body } = await ask('POST', '/api/sweeps', request({ trials: 6 }));
  assert.equal(
    [body.sweep_id, body.state, body.direction, body.started],
    ['sweep_1', 'running', 'minimize', 0],
  );
  const trials = async () => (await sweepOf('sweep_1')).trials_started;
  await until(async () => (await trials())[0]?.last_value != null, 'the first trial was evaluated');
  await restart();
  await until(async () => (await trials())[0]?.state === 'completed', 'the first trial has ended', 300_000);
  await restart();
  const sweep = await untilOver('sweep_1');
  assert.is(sweep.state, 'completed', sweep.error);
  const states = sweep.trials_started.map(({ state }: Json) => state);
  assert.is(states.length, 6);
  assert.ok(
    states.includes('culled') && states.every((state: string) => /^(completed|culled)$/.test(state)),
    `${states}`,
  );
  assert.ok(sweep.steps.made < sweep.steps.planned);
  const values = sweep.trials_started.flatMap(({ value }: Json) => (value === null ? [] : [value]));
  assert.is(sweep.best.value, Math.min(...values));
  assert.is(sweep.importance[0].field, 'learning_rate');
  assert.ok(sweep.importance[0].share > 0, 'the first evaluations after the base model differ');
  // "Train best trial" is an ordinary training.
  assert.is(sweep.best_request.learning_rate, sweep.best.parameters.learning_rate);
  assert.is(
    (await ask('POST', '/api/start_training', { ...sweep.best_request, max_steps: 9, eval_steps: 3 })).status,
    200,
  );
  const culled = sweep.trials_started.find(({ state }: Json) => state === 'culled');
  const own = JSON.parse(readFileSync(join(dataDir, 'jobs', culled.job_id, 'spec.json'), 'utf8'));
  assert.equal([own.settings.eval_steps, own.export], [3, null]);
  assert.ok((await service.call('GET', `/api/jobs/${culled.job_id}`)).body.resumable);

  await ask('POST', '/api/sweeps', request({ trials: 6 }));
  const again = await untilOver('sweep_2');
  const first = (found: Json) => found.trials_started.slice(0, 2).map(({ parameters }: Json) => parameters);
  assert.equal(first(again), first(sweep));
  const names = [sweep, again].flatMap(({ trials_started: trials }) =>
    trials.map(({ display_name: name }: Json) => name),
  );
  assert.is(new Set(names).size, 12, `no two runs have one name: ${names}`);
  assert.is((await ask('GET', '/api/sweeps')).body.sweeps.length, 2);
  assert.is((await ask('DELETE', '/api/sweeps/sweep_2')).status, 200);
  assert.is((await ask('GET', '/api/sweeps/sweep_2')).status, 404);
  assert.is((await service.call('GET', `/api/jobs/${again.best.job_id}`)).status, 404);
  assert.is((await service.call('GET', `/api/jobs/${sweep.best.job_id}`)).status, 200);
});

test('a sweep is stopped with its trial, and cannot be deleted before; a deleted or failed trial does not end it', async () => {
  // So many steps that no trial ends by itself.
  const changes = { trials: 3, culling: false, max_steps: 20_000, metric: 'mean_token_accuracy' };
  const { sweep_id: name, direction } = (await ask('POST', '/api/sweeps', request(changes))).body;
  assert.is(direction, 'maximize');
  const trial = async (number: number) => (await sweepOf(name)).trials_started[number - 1];
  await until(async () => (await trial(1))?.state === 'running', 'a trial runs');
  assert.is((await ask('DELETE', `/api/sweeps/${name}`)).status, 409);
  const job = (await trial(1)).job_id;
  await service.call('POST', `/api/jobs/${job}/stop`, { discard: true });
  await until(async () => (await trial(2))?.state === 'running', 'the next trial runs', 300_000);
  assert.equal([(await trial(1)).state, (await trial(1)).job_id], ['deleted', null]);
  const stopped = (await ask('POST', `/api/sweeps/${name}/stop`)).body;
  assert.is(stopped.state, 'stopped');
  assert.is(stopped.trials_started[1].state, 'stopped');
  assert.is((await ask('POST', `/api/sweeps/${name}/stop`)).status, 409);
  await restart();
  assert.is((await sweepOf(name)).started, 2);
  assert.is((await service.call('GET', '/api/training_status')).body.status, 'stopped');
  // One of its trials can go on by itself, and then the sweep cannot be deleted.
  const { job_id: second } = await trial(2);
  assert.is((await service.call('POST', `/api/jobs/${second}/resume`)).status, 200);
  const busy = await ask('DELETE', `/api/sweeps/${name}`);
  assert.is(busy.status, 409);
  assert.match(busy.body.detail, `${second} of ${name} is `);
  assert.is((await sweepOf(name)).started, 2);
  assert.is((await service.call('POST', `/api/jobs/${second}/stop`)).status, 200);
  assert.is((await ask('DELETE', `/api/sweeps/${name}`)).status, 200);
  assert.is((await service.call('GET', `/api/jobs/${second}`)).status, 404);
});

test('a sweep can be stopped before its first trial, and a failed one not at all', async () => {
  const { sweep_id: name } = (await ask('POST', '/api/sweeps', request())).body;
  assert.is((await ask('POST', `/api/sweeps/${name}/stop`)).body.state, 'stopped');
  assert.is((await ask('DELETE', `/api/sweeps/${name}`)).status, 200);
  const { body } = await ask('POST', '/api/sweeps', request({ metric: 'entropy' }));
  assert.is((await untilOver(body.sweep_id)).state, 'failed');
  assert.match((await ask('POST', `/api/sweeps/${body.sweep_id}/stop`)).body.detail, 'is failed');
});

test('a culled trial that is resumed goes on to its end, in a sweep that runs', async () => {
  const { sweep_id: name } = (await ask('POST', '/api/sweeps', request({ trials: 20, seed: 3 }))).body;
  const culled = await until(
    async () => (await sweepOf(name)).trials_started.find(({ state }: Json) => state === 'culled'),
    'a trial was culled',
    300_000,
  );
  // Refused while another trial runs: until one has ended and the next is not proposed yet.
  for (let status = 0; status !== 200; ) {
    assert.is((await sweepOf(name)).state, 'running');
    ({ status } = await service.call('POST', `/api/jobs/${culled.job_id}/resume`));
  }
  const again = async () => (await sweepOf(name)).trials_started[culled.number - 1];
  await until(async () => !/queued|starting|running/.test((await again()).state), 'it has ended', 300_000);
  const ended = await again();
  assert.equal([ended.state, ended.step], ['completed', 27]);
  assert.type(ended.value, 'number');
  assert.is((await ask('POST', `/api/sweeps/${name}/stop`)).status, 200);
});

test('a metric that trainings do not report after all ends the sweep, and names those that they do', async () => {
  // The trial is evaluated after two seconds, and would end after 18.
  const { body } = await ask('POST', '/api/sweeps', request({ metric: 'entropy', max_steps: 900 }));
  const sweep = await untilOver(body.sweep_id);
  assert.is(sweep.state, 'failed');
  assert.match(sweep.error, 'no metric entropy. It has eval_loss, mean_token_accuracy');
  await until(
    async () => (await sweepOf(body.sweep_id)).trials_started[0].state === 'stopped',
    'its trial stopped',
  );
});

test('what is wrong with a sweep is said all at once, by field, and nothing is started', async () => {
  const before = (await ask('GET', '/api/sweeps')).body.sweeps.length;
  const refused = async (changes: object, ...words: string[]) => {
    const { status, body } = await ask('POST', '/api/sweeps', request(changes));
    assert.is(status, 400, JSON.stringify(body));
    for (const word of words) assert.ok(body.detail.includes(word), `${word}: ${body.detail}`);
  };
  await refused({ space: {}, eval_split: 0 }, 'space has nothing in it', 'set eval_split');
  await refused(
    {
      space: { learning_rate: { low: 1e-5, high: 7 }, workers: { choices: [1] }, optim: { low: 1 } },
      trials: 0,
    },
    ...['space.learning_rate.high', 'at most 1', '"space.workers"', '"space.optim.low"', '"trials"'],
  );
  await refused({ space: { learning_rate: { low: 2e-3, high: 1e-3 } } }, 'low must be less than high');
  await refused(
    { space: { warmup_ratio: { low: 0, high: 1, log: true } } },
    'with log, low must be greater than 0',
  );
  await refused({ space: { max_steps: { low: -1, high: 9 } } }, 'begins at 1');
  await refused({ space: { lora_r: { choices: [8, 8] } } }, 'a choice twice');
  await refused({ space: { lora_r: { choices: [8], low: 1 } } }, 'choices and a range');
  await refused({ space: { lora_r: { low: 1 } } }, 'low and high');
  await refused({ space: { lora_r: { choices: [8] } } }, 'single combination');
  await refused({ space: { lora_r: { choices: [8, 16] } } }, 'trials is 20, and space has 2 combinations');
  await refused(
    {
      space: { optim: { choices: ['adamw_torch', 'nope', 'sgd'] } },
      dataset: 'none.jsonl',
      eval_split: null,
    },
    ...['optim must be one of', 'none.jsonl', 'set eval_split'],
  );
  await refused({ direction: 'up', metric: '', colour: 1 }, '"direction"', '"metric"', '"colour"');
  await refused({ trials: 1001 }, '"trials": must be at most 1000');
  await refused({ space: { learning_rate: { low: 1e-3 } }, trials: 2.5 }, '"trials"');
  for (const metric of ['rougeL', 'bleu'])
    await refused({ metric }, `metric is ${metric}, which text-generation does not report`, 'eval_loss');
  assert.is((await ask('GET', '/api/sweeps')).body.sweeps.length, before);
  assert.is((await ask('GET', '/api/sweeps/sweep_99')).status, 404);
  assert.is((await ask('DELETE', '/api/sweeps/train_1')).status, 404);
});

test('real trainings: the trial with the better learning rate is found', async () => {
  const real = await startService({ warm: true });
  await real.upload('support.jsonl', supportRows());
  const changes = { space: { learning_rate: { choices: [1e-6, 1e-2] } }, trials: 2, max_steps: 4 };
  const { body } = await real.call('POST', '/api/sweeps', request(changes));
  const read = async () => (await real.call('GET', `/api/sweeps/${body.sweep_id}`)).body;
  await until(async () => (await read()).state !== 'running', 'it has ended', 600_000);
  const sweep = await read();
  assert.is(sweep.state, 'completed', sweep.error);
  assert.equal(sweep.best.parameters, { learning_rate: 1e-2 });
});

test.run();
