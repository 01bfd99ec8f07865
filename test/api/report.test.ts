import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { examples as evaluationExamples } from '../../src/api/hone/evaluations/examples.ts';
import type { EvaluationDetail } from '../../src/api/hone/evaluations/schemas.ts';
import { examples } from '../../src/api/hone/jobs/examples.ts';
import { comparisonReport } from '../../src/api/hone/reports/comparison-report.ts';
import { evaluationReport } from '../../src/api/hone/reports/evaluation-report.ts';
import { lineChart, thinned, ticksOf } from '../../src/api/hone/reports/line-chart.ts';
import { markup } from '../../src/api/hone/reports/markup.ts';
import { type RunFacts, runReport } from '../../src/api/hone/reports/run-report.ts';

const job = {
  ...(examples['GET /api/jobs/{job_id}'] as RunFacts['job']),
  display_name: 'ours </title><script>alert(1)</script>',
  notes: 'the password is swordfish',
  model_name: '/home/jo/models/tiny',
  settings: {
    learning_rate: 2e-4,
    reward_model: 'C:\\models\\judge',
    graders: [{ grader: { type: 'hone_length', name: 'brief' }, weight: 1 }],
    golden_prompts: ['Hello', { prompt: 'Be quiet', reference: '' }],
  },
  metrics: { final_loss: 0.5612, eval_loss: 0.534 },
  verdict: {
    verified: true,
    duration_seconds: 40,
    loss: { base: 2.31, tuned: 0.42 },
    metric: { name: 'rougeL', base: 0.18, tuned: 0.47 },
    reason: null,
    retention: {
      loss: { base: 3.1, tuned: 3.6 },
      kl: 0.4,
      advice: 'The model forgot some.',
      strengths: [],
      checkpoints: [],
    },
    judgement: {
      kind: 'learned',
      sentence: 'It learned: "yes" & more',
      notes: ['Ten rows.'],
      changes: null,
      checkpoint: null,
    },
    prompts: [
      {
        prompt: 'Where is <b>my order</b>?',
        reference: 'On its way.',
        test: null,
        trained: false,
        base: '',
        tuned: 'It is on its way.',
        checkpoints: [],
        file: null,
      },
    ],
  },
} as RunFacts['job'];
const series = examples['GET /api/jobs/{job_id}/metrics'] as RunFacts['series'];
const data = { rows: 60, sha256: 'ab'.repeat(32) };

test('a report has verdict, charts, figures, settings and the digest of the data, and loads nothing', () => {
  const report = runReport({ job, series, data }, false);
  for (const part of [
    'It learned: &quot;yes&quot; &amp; more',
    'Evaluation loss: 2.31 → <b>0.42</b>',
    'ROUGE-L: 0.18 → <b>0.47</b>',
    '<svg viewBox',
    '<td><bdi>0.561</bdi></td>',
    data.sha256,
    'Learning rate',
    '<bdi>brief</bdi>',
    '<bdi>Hello, Be quiet</bdi>',
  ]) {
    assert.ok(report.includes(part), part);
  }
  assert.not.match(report, /\b(?:src|href|url\()/);
  assert.not.match(report, '<script');
  for (const secret of ['swordfish', '/home/jo', 'C:\\']) assert.not.match(report, secret);
  assert.match(report, 'base <bdi>tiny</bdi>');
  assert.match(report, '<bdi>judge</bdi>');
  assert.match(report, '<li>Loss on general text: 3.10 → <b>3.60</b></li>');
  assert.match(report, 'The model forgot some.');
});

test('the score of a grader is told before the loss', () => {
  const metric = { name: 'grader:brief', base: 0.2, tuned: 0.9 };
  const report = runReport(
    { job: { ...job, verdict: { ...job.verdict, metric } } as typeof job, series, data },
    false,
  );
  assert.ok(report.indexOf('brief (grader): 0.2') < report.indexOf('Evaluation loss: 2.31'));
});

test('prompts and answers are in it if that is wanted, escaped', () => {
  assert.not.match(runReport({ job, series, data }, false), 'my order');
  const report = runReport({ job, series, data }, true);
  for (const part of ['Where is &lt;b&gt;my order', '(empty answer)', 'It is on its way.', 'On its way.']) {
    assert.ok(report.includes(part), part);
  }
});

test('a run that ended before its first step has a report without charts', () => {
  const bare = { ...job, verdict: null, metrics: null };
  const report = runReport({ job: bare, series: { train: [], eval: [] }, data: null }, true);
  assert.not.match(report, '<svg');
  assert.match(report, 'the rows were deleted');
});

const loadsNothing = (report: string) => {
  assert.not.match(report, /\b(?:src|href|url\()/);
  assert.not.match(report, '<script');
};

test('a report of several runs has them side by side, what differs bold, and rows if they are wanted', () => {
  const other = {
    ...job,
    job_id: 'train_8',
    settings: { learning_rate: 1e-4, warmup_ratio: null },
    metrics: null,
  };
  const runs = [
    { job, series, data },
    { job: { ...other, dataset: '/home/jo/rows.jsonl' }, series, data: null },
  ];
  const report = comparisonReport(runs, false);
  loadsNothing(report);
  for (const part of [
    '2 runs compared',
    '(train_8)',
    '<b>0.0002</b>',
    '<b>rows.jsonl</b>',
    '<b>0.561</b>',
    'class="curve line-1"',
    data.sha256,
    'the rows were deleted',
  ])
    assert.ok(report.includes(part), part);
  for (const secret of ['swordfish', '/home/jo', 'C:\\', 'my order']) assert.not.match(report, secret);
  const whole = comparisonReport(runs, true);
  assert.is(whole.match(/Where is &lt;b&gt;my order/g)?.length, 1, 'a prompt of both is there once');
  assert.is(whole.match(/It is on its way\./g)?.length, 2);
});

test('a report of evaluations has their figures, the best bold, and rows if they are wanted', () => {
  const one = {
    ...(evaluationExamples['GET /api/evaluations/{evaluation_id}'] as EvaluationDetail),
    name: '/home/jo/models/tiny',
    base_model: '/home/jo/models/tiny',
    warnings: ['Some rows of /home/jo/rows.jsonl are in its dataset.'],
  };
  const better = { ...one, evaluation_id: 'eval_3', figures: { ...one.figures, loss: 0.21 } };
  const report = evaluationReport([one, better], false);
  loadsNothing(report);
  for (const part of [
    '<b>0.21</b> best',
    'tiny (eval_2)',
    'ROUGE-L (%)',
    one.rows_digest as string,
    'Some rows of rows.jsonl are',
  ])
    assert.ok(report.includes(part), part);
  for (const secret of ['/home/jo', 'the same fee']) assert.not.match(report, secret);
  assert.match(evaluationReport([one], true), 'the same fee');
  const changed = evaluationReport([one, { ...better, rows_digest: 'other' }], true);
  assert.match(changed, 'were changed in between');
  for (const part of ['best', 'the same fee']) assert.not.match(changed, part);
});

test('a chart has round ticks, a dot for each evaluation, and no more points than can be seen', () => {
  assert.equal(ticksOf(0, 1), [0, 0.5, 1]);
  assert.equal(ticksOf(-3, 1200), [0, 500, 1000]);
  const long = Array.from({ length: 5_000 }, (_, step) => ({ step, value: step % 2 }));
  assert.ok(thinned(long).length <= 600);
  assert.is(thinned(long).at(-1)?.step, 4_999);
  const chart = lineChart('Loss', [
    { name: 'Training', points: long },
    {
      name: 'Evaluation',
      hasDots: true,
      points: [
        { step: 0, value: 2 },
        { step: 4_999, value: 0.1 },
      ],
    },
  ]);
  assert.is(chart?.text.match(/<circle/g)?.length, 2);
  assert.not.match(chart?.text ?? '', 'NaN');
  // One point, and equal values.
  assert.not.match(lineChart('Loss', [{ name: 'a', points: [{ step: 1, value: 3 }] }])?.text ?? 'NaN', 'NaN');
  assert.is(lineChart('Loss', [{ name: 'a', points: [] }]), null);
  const alone = lineChart('Loss', [
    { name: 'Training', points: [] },
    { name: 'Evaluation', points: [{ step: 1, value: 3 }] },
  ]);
  assert.not.match(alone?.text ?? '', 'd="M"');
});

test('markup escapes what is not markup', () => {
  assert.is(
    markup`<p title="${'"\''}">${'<&>'}${markup`<b>${1}</b>`}${null}</p>`.text,
    '<p title="&quot;&#39;">&lt;&amp;&gt;<b>1</b></p>',
  );
});

test.run();
