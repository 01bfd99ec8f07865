/** Graders choose: the best trial of a sweep, what a run is judged by, and the better of two evaluations. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
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
  assert.equal(started.request.graders, ['alike', 'brief']);
  // Trials have it as it was.
  const replace = (grader: object) => service.call('PUT', '/api/graders/alike', { ...grader, name: 'alike' });
  assert.is((await replace(brief)).status, 200);
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
  for (const { job_id: id } of sweep.trials_started) {
    const { graders } = (await service.call('GET', `/api/jobs/${id}`)).body.settings;
    assert.equal(graders[0].grader.type, 'text_similarity', id);
  }
  assert.is((await replace(alike)).status, 200);

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
    [{ prompt: 'a', reference: 'a', item: [] }, /item.*must be an object/],
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

test('a judge says, in both orders, which of two evaluations has the better answers', async () => {
  // Prefers the answer that comes first wherever the two differ, which is no opinion.
  let asked = 0;
  const server = createServer(async (request, response) => {
    const body = JSON.parse((await text(request)) || '{}');
    const content = JSON.stringify({ reasoning: 'it is first', result: 'A' });
    if (request.method === 'POST') {
      asked += 1;
      assert.match(body.messages[0].content, 'by these criteria: It is short.');
    }
    response.end(
      JSON.stringify(
        request.method === 'GET' ? { data: [{ id: 'judge-1' }] } : { choices: [{ message: { content } }] },
      ),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const judge = {
    ...{ type: 'score_model', name: 'judge', model: 'judge-1', base_url },
    input: [{ role: 'user', content: '{{sample.output_text}}' }],
  };
  assert.is((await service.call('POST', '/api/graders', judge)).status, 200);
  const { model_id: model } = (await service.call('GET', '/api/jobs')).body.jobs[0];
  const evaluations: string[] = [];
  for (const as_base of [false, true]) {
    const ask = { dataset: 'held-out.jsonl', model, as_base, rows: 4 };
    const { body } = await service.call('POST', '/api/evaluations', ask);
    await until(async () => {
      const { body: now } = await service.call('GET', `/api/evaluations/${body.evaluation_id}`);
      return now.state === 'completed';
    }, 'the evaluation has ended');
    evaluations.push(body.evaluation_id);
  }
  const request = { evaluations, judge: 'judge', criteria: 'It is short.', rows: 3 };
  const { status, body } = await service.call('POST', '/api/evaluations/pairs', request);
  assert.is(status, 200, JSON.stringify(body));
  assert.equal(body.summary, { first: 0, second: 0, tie: 3, agreement: 0 });
  assert.equal(
    body.pairs.map(({ line, better, consistent }: Json) => [line, better, consistent]),
    [1, 2, 3].map((line) => [line, 'tie', false]),
  );
  assert.match(body.pairs[0].explanation, /A: it is first\nin the other order A/);
  assert.ok(asked > 0 && asked <= 6);
  const told: [object, RegExp][] = [
    [{ judge: 'alike' }, /alike asks no model; name a grader of the type score_model or label_model/],
    [{ judge: 'unknown' }, /There is no grader unknown/],
    [{ evaluations: [evaluations[0], 'eval_1'] }, /cannot be compared/],
    [{ evaluations: [evaluations[0]] }, /two evaluations/],
    [{ rows: 1_000 }, /at most 100/],
  ];
  for (const [changes, words] of told) {
    const refused = await service.call('POST', '/api/evaluations/pairs', { ...request, ...changes });
    assert.ok(refused.status === 400 || refused.status === 404, JSON.stringify(refused.body));
    assert.match(JSON.stringify(refused.body), words);
  }
  server.close();
  const gone = await service.call('POST', '/api/evaluations/pairs', request);
  assert.match(JSON.stringify([gone.status, gone.body]), /400.*cannot be reached/);
});

test.run();
