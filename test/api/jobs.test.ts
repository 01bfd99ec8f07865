/** `/api/jobs`: filters, series, and rows of its own. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type Answer,
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  tinyModel,
  until,
  untilEnded,
} from '../service.ts';
import { type Description, readDescription } from './description.ts';

let service: TestService;
let description: Description;

async function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  const answer = await service.call(method, path, body);
  description.check(method, path.split('?')[0] as string, answer);
  return answer;
}
async function train(changes: Record<string, unknown>): Promise<Json> {
  const start = await ask('POST', '/api/start_training', quickRequest({ export: 'none', ...changes }));
  assert.is(start.status, 200, JSON.stringify(start.body));
  assert.is((await untilEnded(service)).status, 'completed');
  return (await ask('GET', `/api/jobs/${start.body.job_id}`)).body;
}

test.before(async () => {
  service = await startService({ warm: true });
  description = await readDescription(service);
  await service.upload('support.jsonl', supportRows());
});
test.after(endAll);

test('a job keeps its rows when its dataset is replaced and deleted while it runs', async () => {
  const heldOut = supportRows().split('\n').slice(0, 12).join('\n');
  await service.upload('held-out.jsonl', heldOut);
  const request = quickRequest({
    export: 'none',
    max_steps: 200,
    validation_dataset: 'held-out.jsonl',
    keep_best: true,
    eval_steps: 100,
  });
  const { body: needed } = await ask('POST', '/api/estimate', request);
  assert.is(needed.steps.held_out_rows, 12);
  const { job_id: jobId } = (await ask('POST', '/api/start_training', request)).body;
  const own = join(service.dataDir, 'jobs', jobId, 'dataset.jsonl');
  assert.is((await ask('DELETE', '/api/datasets/held-out.jsonl')).status, 200);
  assert.is(readFileSync(join(service.dataDir, 'jobs', jobId, 'validation.jsonl'), 'utf8'), heldOut);
  const { body: started } = await ask('GET', `/api/jobs/${jobId}`);
  assert.equal([started.row_shape, started.validation_dataset], ['input-output', 'held-out.jsonl']);
  await until(async () => (await ask('GET', `/api/jobs/${jobId}`)).body.state === 'running', 'it runs');
  const other = Array.from({ length: 12 }, () => JSON.stringify({ input: 'x', output: 'y' })).join('\n');
  assert.is((await service.upload('support.jsonl', other)).body.num_examples, 12);
  assert.is(readFileSync(own, 'utf8'), supportRows());
  assert.is((await ask('DELETE', '/api/datasets/support.jsonl')).status, 200);
  assert.is(readFileSync(own, 'utf8'), supportRows());
  assert.is((await untilEnded(service)).status, 'completed');
  const evaluations = (await ask('GET', `/api/jobs/${jobId}/metrics`)).body.eval;
  assert.equal(
    evaluations.map(({ step }: Json) => step),
    [0, 100, 200],
  );
  await service.upload('support.jsonl', supportRows());
});

test('compute_specs decides the settings that a request leaves out', async () => {
  const { max_seq_length: _length, per_device_train_batch_size: _batch, ...request } = quickRequest();
  const { gradient_accumulation_steps: _steps, ...bare } = request as Record<string, unknown>;
  const expected: [string, number, number, number][] = [
    ['low_end', 1, 8, 512],
    ['mid_range', 2, 4, 1024],
  ];
  for (const [profile, batch, accumulation, length] of expected) {
    const { settings } = await train({
      ...bare,
      max_seq_length: null,
      per_device_train_batch_size: null,
      gradient_accumulation_steps: null,
      compute_specs: profile,
      max_steps: 1,
    });
    assert.equal(
      [settings.per_device_train_batch_size, settings.gradient_accumulation_steps, settings.max_seq_length],
      [batch, accumulation, length],
      profile,
    );
  }
});

test('jobs are listed by state, task, strategy, provider, model and dataset, in pages', async () => {
  await service.upload('other.jsonl', supportRows());
  await train({ dataset: 'other.jsonl', task: 'summarization', max_steps: 1 });
  await train({ model_name: tinyModel('qwen3'), strategy: 'qlora', max_steps: 1 });
  const listed = async (query: string): Promise<string[]> => {
    const { status, body } = await ask('GET', `/api/jobs?${query}`);
    assert.is(status, 200, JSON.stringify(body));
    return body.jobs.map(({ job_id }: Json) => job_id);
  };
  const all = ['train_5', 'train_4', 'train_3', 'train_2', 'train_1'];
  assert.equal(await listed(''), all);
  assert.equal(await listed('task=summarization'), ['train_4']);
  assert.equal(await listed('dataset=other.jsonl'), ['train_4']);
  assert.equal(await listed('strategy=qlora'), ['train_5']);
  assert.equal(await listed(`model_name=${encodeURIComponent(tinyModel('qwen3'))}`), ['train_5']);
  assert.equal(await listed('provider=standard&strategy=sft&task=text-generation'), [
    'train_3',
    'train_2',
    'train_1',
  ]);
  assert.equal(await listed('state=completed'), all);
  assert.equal(await listed('state=failed,completed'), all);
  assert.equal(await listed('state=failed,queued'), []);
  assert.equal(await listed('limit=2&offset=1'), ['train_4', 'train_3']);
  assert.is((await ask('GET', '/api/jobs?limit=1&strategy=sft')).body.total, 4, 'all that match are counted');
  for (const query of ['state=lost', 'state=completed,', 'task=', 'limit=-1', 'limit=1001', 'offset=x']) {
    assert.is((await ask('GET', `/api/jobs?${query}`)).status, 400, query);
  }
});

test('a series is thinned on request, and keeps its last point', async () => {
  const whole = (await ask('GET', '/api/jobs/train_1/metrics')).body;
  assert.is(whole.train.length, 200);
  assert.equal(
    whole.eval.map(({ step }: Json) => step),
    [0, 100, 200],
  );
  const { train: thin } = (await ask('GET', '/api/jobs/train_1/metrics?points=20')).body;
  assert.ok(thin.length >= 20 && thin.length <= 21, `${thin.length}`);
  assert.equal(thin.at(-1), whole.train.at(-1));
  for (const point of thin) assert.equal(point, whole.train[point.step - 1]);
});

test.run();
