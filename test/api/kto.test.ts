import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { journalOf } from '../jobs/journal.ts';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  type TestService,
  tinyModel,
  until,
  untilEnded,
} from '../service.ts';

/*
 * KTO through the API: from rows with labels to a verified model that answers.
 */

let service: TestService;

const lines = (rows: readonly unknown[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const asked = ['My parcel has not come.', 'I was charged twice.', 'I cannot log in.', 'Where is my order?'];
/** Three right answers to each wrong one, sorted by label. */
const rated = Array.from({ length: 48 }, (_, index) => ({
  prompt: `${asked[index % 4]} Case ${index}.`,
  completion: index < 36 ? 'team: billing' : 'no idea',
  label: index < 36,
}));
const request = (changes: Record<string, unknown>) =>
  quickRequest({
    model_name: tinyModel('llama', 'chatml'),
    dataset: 'rated.jsonl',
    strategy: 'kto',
    max_seq_length: 128,
    per_device_train_batch_size: 4,
    gradient_accumulation_steps: 2,
    learning_rate: 0.01,
    eval_split: 0.2,
    max_steps: 12,
    eval_steps: 6,
    ...changes,
  });

test.before(async () => {
  service = await startService({ warm: true });
  await service.upload('rated.jsonl', lines(rated));
});
test.after(endAll);

test('rows with labels are trained, weighted, evaluated and exported', async () => {
  const dataset = (await service.call('GET', '/api/datasets')).body.datasets.find(
    ({ filename }: Json) => filename === 'rated.jsonl',
  );
  assert.equal([dataset.shape, dataset.num_examples], ['unpaired-preference', 48]);
  const estimate = await service.call('POST', '/api/estimate', request({}));
  assert.is(estimate.status, 200, JSON.stringify(estimate.body));
  const started = await service.call('POST', '/api/start_training', request({}));
  assert.is(started.status, 200, JSON.stringify(started.body));
  assert.is((await untilEnded(service)).status, 'completed');
  const job = (await service.call('GET', `/api/jobs/${started.body.job_id}`)).body;
  assert.ok(job.verification.passed, JSON.stringify(job.verification));
  assert.is(job.row_shape, 'unpaired-preference');
  assert.is(job.verdict.metric.name, 'rewards/margins');
  assert.ok(job.verdict.metric.tuned > job.verdict.metric.base);
  const journal = journalOf(service.dataDir, started.body.job_id);
  const warned = journal.find(({ type, code }: Json) => type === 'warning' && code === 'labels_weighted');
  assert.match(warned?.message, /have the label true .* each that is false counts/);
  const answer = await service.call('POST', '/v1/chat/completions', {
    model: '1',
    messages: [{ role: 'user', content: 'My parcel has not come.' }],
    max_tokens: 4,
  });
  assert.is(answer.status, 200);
});

test('an evaluation tells how often right answers win', async () => {
  const { status, body } = await service.call('POST', '/api/evaluations', {
    model: '1',
    dataset: 'rated.jsonl',
  });
  assert.is(status, 200, JSON.stringify(body));
  const found = await until(async () => {
    const told = (await service.call('GET', `/api/evaluations/${body.evaluation_id}`)).body;
    return ['completed', 'failed'].includes(told.state) && told;
  }, 'the evaluation has ended');
  assert.is(found.state, 'completed', JSON.stringify(found));
  assert.equal(Object.keys(found.figures).sort(), ['loss', 'perplexity', 'win_rate_per_token']);
  assert.ok(found.figures.win_rate_per_token > 50);
});

test('labels that are all the same are refused with what to do', async () => {
  await service.upload('up.jsonl', lines(rated.slice(0, 20)));
  await service.upload('down.jsonl', lines(rated.slice(-12)));
  for (const [dataset, message] of [
    ['up.jsonl', /All rows have the label true, .* set strategy to sft/],
    ['down.jsonl', /All rows have the label false, .* for dpo/],
  ] as const) {
    const { status, body } = await service.call('POST', '/api/start_training', request({ dataset }));
    assert.is(status, 400);
    assert.match(body.detail, message);
  }
});

test.run();
