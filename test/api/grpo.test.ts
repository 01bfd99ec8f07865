/** Trainings with graders: what they are refused for, and one that is asked for by the names of graders. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
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

let service: TestService;
const brief = { type: 'hone_length', name: 'brief', min: 1, max: 12 };
const never = {
  type: 'string_check',
  name: 'never',
  input: '{{sample.output_text}}',
  reference: 'no answer is this: {{item.answer}}',
  operation: 'eq',
};
const rows = Array.from({ length: 16 }, (_, at) => ({
  prompt: `What is ${at} and ${at}?`,
  answer: `${2 * at}`,
}));
const lines = (some: readonly object[]) => some.map((row) => `${JSON.stringify(row)}\n`).join('');

test.before(async () => {
  service = await startService({ warm: true });
  await service.upload('prompts.jsonl', lines(rows));
  assert.is((await service.call('POST', '/api/graders', brief)).status, 200);
});
test.after(endAll);

const request = (changes: object = {}) =>
  quickRequest({
    dataset: 'prompts.jsonl',
    strategy: 'grpo',
    graders: ['brief'],
    per_device_train_batch_size: 8,
    max_answer_tokens: 8,
    max_steps: 2,
    export: 'none',
    ...changes,
  });
test('a dataset of prompts has the shape of prompts, and its rows are trained with grpo', async () => {
  const { body } = await service.call('GET', '/api/datasets');
  assert.is(body.datasets.find(({ filename }: Json) => filename === 'prompts.jsonl').shape, 'prompt');
  const analysis = await service.call('POST', '/api/datasets/prompts.jsonl/analysis', {
    model_name: tinyModel('llama'),
  });
  assert.is(analysis.status, 200, JSON.stringify(analysis.body));
});

test('rlhf takes graders beside its reward model, which name columns of its rows', async () => {
  const pairs = rows.map((row) => ({ ...row, chosen: row.answer, rejected: 'many' }));
  await service.upload('pairs.jsonl', lines(pairs));
  const wanted = { strategy: 'rlhf', dataset: 'pairs.jsonl', max_answer_tokens: undefined };
  const graders = ['brief', { grader: { ...never, name: 'right' }, weight: 2 }];
  const { body, status } = await service.call('POST', '/api/estimate', request({ ...wanted, graders }));
  assert.is(status, 200, JSON.stringify(body));
  const other = [{ grader: { ...never, reference: '{{item.wanted}}' } }];
  const told = await service.call('POST', '/api/start_training', request({ ...wanted, graders: other }));
  assert.is(told.status, 400);
  assert.match(JSON.stringify(told.body), /names the column wanted, which is not there/);
  const named = [{ grader: { ...never, name: 'reward_model' } }];
  const taken = await service.call('POST', '/api/start_training', request({ ...wanted, graders: named }));
  assert.is(taken.status, 400);
  assert.match(JSON.stringify(taken.body), /a reward of its own that is called reward_model/);
});

test('what cannot be graded is told before a start', async () => {
  const told: [object, RegExp][] = [
    [{ graders: null }, /name at least one/],
    [{ graders: [] }, /graders/],
    [{ graders: ['unknown'] }, /There is no grader unknown/],
    [{ graders: ['brief', { grader: brief }] }, /brief is named twice/],
    [
      {
        graders: [
          { grader: { type: 'python', name: 'code', source: 'def grade(sample, item):\n  return 1.0' } },
        ],
      },
      /runs Python or names a server; store it/,
    ],
    [{ graders: [{ weight: 2 }] }, /either the .*name/],
    [{ graders: [{ grader: { ...never, operation: 'equals' } }] }, /operation/],
    [
      { graders: [{ grader: { ...never, reference: '{{item.wanted}}' } }] },
      /names the column wanted, which is not there/,
    ],
    [{ group_size: 3 }, /multiple of 3/],
    [{ per_device_train_batch_size: 64, gradient_accumulation_steps: 8 }, /takes 64 prompts/],
  ];
  for (const [changes, words] of told) {
    const { status, body } = await service.call('POST', '/api/start_training', request(changes));
    assert.ok(status === 400 || status === 404, `${JSON.stringify(changes)}: ${JSON.stringify(body)}`);
    assert.match(JSON.stringify(body), words, JSON.stringify([changes, body]));
  }
});

test('a run by the name of a grader takes the steps of its estimate, keeps the definition, tells the scores and has a verdict', async () => {
  const graders = ['brief', { grader: { ...never, operation: 'ne' }, weight: 0.5 }];
  const wanted = { graders, eval_split: 0.25, max_steps: -1, num_train_epochs: 1, group_size: 4 };
  const estimate = async (changes = {}) =>
    (await service.call('POST', '/api/estimate', request({ ...wanted, ...changes }))).body;
  const before = await estimate();
  const { body } = await service.call('POST', '/api/start_training', request(wanted));
  const ended = await untilEnded(service);
  assert.is(ended.status, 'completed', JSON.stringify([body, ended]));
  const { body: job } = await service.call('GET', `/api/jobs/${body.job_id}`);
  assert.equal(job.settings.graders, [
    { grader: { ...brief, input: '{{sample.output_text}}', unit: 'characters' }, weight: 1 },
    { grader: { ...never, operation: 'ne' }, weight: 0.5 },
  ]);
  const { body: seen } = await service.call('GET', `/api/jobs/${body.job_id}/metrics`);
  const told = JSON.stringify(seen);
  for (const name of ['reward', 'rewards/brief/mean', 'rewards/never/mean', 'frac_reward_zero_std', 'kl'])
    assert.match(told, `"${name}"`);
  assert.is(job.verdict.metric.name, 'reward');
  assert.is(job.verdict.loss, null);
  // Twelve prompts that are trained, two of them in a step of eight answers.
  assert.equal([before.steps.total, seen.train.at(-1).step], [6, 6]);
  const { time } = await estimate();
  assert.equal([time.basis, time.rough], [body.job_id, false]);
  assert.is((await estimate({ max_answer_tokens: 16 })).time.rough, true);
});

test('an evaluation of prompts scores their answers by graders alone, with the model of a run and its base', async () => {
  const evaluate = (changes: object) =>
    service.call('POST', '/api/evaluations', { dataset: 'prompts.jsonl', rows: 6, ...changes });
  const refused = await evaluate({ base_model: tinyModel('llama') });
  assert.is(refused.status, 400);
  assert.match(refused.body.detail, 'prompts without answers to compare with: name graders');
  const { model_id: model } = (await service.call('GET', '/api/jobs')).body.jobs[0];
  for (const as_base of [false, true]) {
    const { body: started, status } = await evaluate({ model, as_base, graders: ['brief'] });
    assert.is(status, 200, JSON.stringify(started));
    let ended = started;
    await until(async () => {
      ended = (await service.call('GET', `/api/evaluations/${started.evaluation_id}`)).body;
      return ended.state === 'completed' || ended.state === 'failed';
    }, 'the evaluation has ended');
    assert.is(ended.state, 'completed', JSON.stringify(ended));
    assert.equal(Object.keys(ended.figures), ['grader:brief']);
    const { body: tried } = await service.call('POST', '/api/graders/test', {
      grader: 'brief',
      rows: ended.results.map(({ answer }: Json, at: number) => ({ item: rows[at], answer })),
    });
    assert.is(ended.figures['grader:brief'], tried.mean);
    assert.is(ended.results[0].reference, null);
  }
});

test('a run whose answers all have one score ends before its first step', async () => {
  const { body } = await service.call(
    'POST',
    '/api/start_training',
    request({ graders: [{ grader: never }] }),
  );
  await untilEnded(service);
  const { body: job } = await service.call('GET', `/api/jobs/${body.job_id}`);
  assert.equal([job.state, job.error?.code], ['failed', 'no_reward_spread'], JSON.stringify(job));
  assert.match(JSON.stringify(job), 'equal rewards');
});

test.run();
