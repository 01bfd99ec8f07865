/** Graders choose: the best trial of a sweep and what a run is judged by. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  until,
  untilEnded,
} from '../service.ts';

let service: TestService;
const alike = {
  type: 'text_similarity',
  name: 'alike',
  input: '{{sample.output_text}}',
  reference: '{{item.output}}',
  evaluation_metric: 'fuzzy_match',
};
const brief = { type: 'hone_length', name: 'brief', max: 12 };
const figure = 'grader:alike';

test.before(async () => {
  service = await startService({ warm: true });
  await service.upload('support.jsonl', supportRows());
  await service.upload('held-out.jsonl', supportRows().split('\n').slice(0, 12).join('\n'));
  await service.upload('texts.jsonl', '{"text": "One line."}\n'.repeat(20));
  for (const grader of [alike, brief])
    assert.is((await service.call('POST', '/api/graders', grader)).status, 200);
});
test.after(endAll);

const request = (changes: object = {}) =>
  quickRequest({ validation_dataset: 'held-out.jsonl', max_steps: 2, export: 'none', ...changes });
const space = { learning_rate: { choices: [1e-4, 1e-2] } };
const sweepRequest = (changes: object = {}) => request({ space, trials: 2, metric: figure, ...changes });

test('what a grader cannot choose by is told before a start', async () => {
  const none = { validation_dataset: null };
  const told: [string, object, RegExp][] = [
    ['start_training', { graders: ['brief'], ...none }, /graders need validation rows/],
    ['start_training', { graders: ['unknown'] }, /There is no grader unknown/],
    [
      'start_training',
      { graders: ['brief'], dataset: 'texts.jsonl', ...none, eval_split: 0.5 },
      /are not answered/,
    ],
    [
      'start_training',
      { graders: [{ grader: { ...alike, reference: '{{item.wanted}}' } }] },
      /names the column wanted, which is not there/,
    ],
    ['sweeps', { space, metric: 'grader:unknown' }, /There is no grader unknown/],
    [
      'sweeps',
      { space, metric: figure, strategy: 'grpo', graders: ['brief'] },
      /tells the scores of its rewards alone; name alike in graders/,
    ],
  ];
  for (const [route, changes, words] of told) {
    const { status, body } = await service.call('POST', `/api/${route}`, request(changes));
    assert.ok(status === 400 || status === 404, `${JSON.stringify(changes)}: ${JSON.stringify(body)}`);
    assert.match(JSON.stringify(body), words, JSON.stringify([changes, body]));
  }
});

test('a sweep finds the trial whose answers a grader finds best, and that model has the same score in an evaluation', async () => {
  const { body: started, status } = await service.call(
    'POST',
    '/api/sweeps',
    sweepRequest({ graders: ['brief'] }),
  );
  assert.is(status, 200, JSON.stringify(started));
  assert.is(started.direction, 'maximize');
  const sweep = await until(async () => {
    const { body } = await service.call('GET', `/api/sweeps/${started.sweep_id}`);
    return body.state === 'running' ? null : body;
  }, 'the sweep has ended');
  assert.is(sweep.state, 'completed', sweep.error);
  const values = sweep.trials_started.map(({ value }: Json) => value);
  assert.ok(
    values.every((value: unknown) => typeof value === 'number'),
    JSON.stringify(values),
  );
  assert.is(sweep.best.value, Math.max(...values));
  assert.equal(sweep.best_request.graders, ['alike', 'brief']);

  const { body: job } = await service.call('GET', `/api/jobs/${sweep.best.job_id}`);
  assert.equal(
    job.settings.graders.map(({ grader }: Json) => grader.name),
    ['alike', 'brief'],
  );
  const { metric, judgement } = job.verdict;
  assert.equal([metric.name, metric.tuned], [figure, sweep.best.value]);
  assert.type(metric.base, 'number');
  assert.match(judgement.sentence, 'alike (grader)');
  assert.type(job.metrics['grader:brief'], 'number');

  const { body: asked } = await service.call('POST', '/api/evaluations', {
    dataset: 'held-out.jsonl',
    model: job.model_id,
    graders: ['alike'],
  });
  const evaluated = await until(async () => {
    const { body } = await service.call('GET', `/api/evaluations/${asked.evaluation_id}`);
    return body.state === 'completed' || body.state === 'failed' ? body : null;
  }, 'the evaluation has ended');
  assert.is(evaluated.state, 'completed', JSON.stringify(evaluated));
  assert.ok(
    Math.abs(evaluated.figures[figure] - sweep.best.value) < 1e-6,
    JSON.stringify([evaluated.figures, sweep.best]),
  );
});

test('a run keeps the checkpoint that its first grader finds best', async () => {
  const changes = { graders: ['alike'], keep_best: true, eval_steps: 1, max_steps: 4 };
  const { body } = await service.call('POST', '/api/start_training', request(changes));
  assert.is((await untilEnded(service)).status, 'completed', JSON.stringify(body));
  const { body: seen } = await service.call('GET', `/api/jobs/${body.job_id}/metrics`);
  const { body: job } = await service.call('GET', `/api/jobs/${body.job_id}`);
  const scores = seen.eval.filter(({ step }: Json) => step > 0).map(({ metrics }: Json) => metrics[figure]);
  assert.is(scores.length, 4, JSON.stringify(seen.eval));
  assert.is(job.metrics[figure], Math.max(...scores));
});

test('golden prompts are tested by a grader or by their reference, before and after a training', async () => {
  const golden_prompts = [
    { prompt: 'Say nothing.', grader: 'brief', threshold: 0 },
    { prompt: 'Repeat me.', reference: 'never said', grader: 'alike' },
    { prompt: 'Repeat that.', reference: 'never said' },
    'Hello',
  ];
  const start = (changes: object) =>
    service.call('POST', '/api/start_training', request({ golden_prompts, ...changes }));
  const told: [object, RegExp][] = [
    [{ prompt: 'a', grader: 'unknown' }, /There is no grader unknown/],
    [{ prompt: 'a', grader: 'alike' }, /alike names the column output, .*; add it to item/],
    [{ prompt: 'a' }, /must have a .*grader/],
    [{ prompt: 'a', grader: { type: 'unknown' } }, /golden_prompts/],
    [{ reference: 'a' }, /prompt/],
  ];
  for (const [prompt, words] of told) {
    const { status, body } = await start({ golden_prompts: [prompt] });
    assert.ok(status === 400 || status === 404, JSON.stringify(body));
    assert.match(JSON.stringify(body), words, JSON.stringify([prompt, body]));
  }
  const { body } = await start({});
  assert.is((await untilEnded(service)).status, 'completed', JSON.stringify(body));
  const { body: job } = await service.call('GET', `/api/jobs/${body.job_id}`);
  assert.equal(job.settings.golden_prompts[1].item, {
    ...{ prompt: 'Repeat me.', input: 'Repeat me.' },
    ...{ reference: 'never said', output: 'never said' },
  });
  const tests = job.verdict.prompts.map(({ test }: Json) => test);
  assert.equal(
    [tests[0].grader, tests[0].threshold, tests[1].grader, tests[1].threshold],
    ['brief', 0, 'alike', 0.5],
  );
  for (const side of ['base', 'tuned']) {
    assert.ok(tests[0][side] === 0 || tests[0][side] === 1);
    assert.ok(tests[1][side] >= 0 && tests[1][side] < 1);
  }
  assert.equal(tests.slice(2), [{ grader: null, threshold: 1, base: 0, tuned: 0 }, null]);
  // What a run was started with starts another one.
  assert.is((await start({ golden_prompts: job.settings.golden_prompts })).status, 200);
  await untilEnded(service);
});

test.run();
