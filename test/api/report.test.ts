import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { examples } from '../../src/api/hone/jobs/examples.ts';
import { lineChart, thinned, ticksOf } from '../../src/api/hone/jobs/report/line-chart.ts';
import { markup } from '../../src/api/hone/jobs/report/markup.ts';
import { type ReportFacts, reportOf } from '../../src/api/hone/jobs/report/report.ts';

const job = {
  ...(examples['GET /api/jobs/{job_id}'] as ReportFacts['job']),
  display_name: 'ours </title><script>alert(1)</script>',
  notes: 'the password is swordfish',
  model_name: '/home/jo/models/tiny',
  settings: { learning_rate: 2e-4, reward_model: 'C:\\models\\judge' },
  metrics: { final_loss: 0.5612, eval_loss: 0.534 },
  verdict: {
    verified: true,
    duration_seconds: 40,
    loss: { base: 2.31, tuned: 0.42 },
    metric: { name: 'rougeL', base: 0.18, tuned: 0.47 },
    reason: null,
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
        trained: false,
        base: '',
        tuned: 'It is on its way.',
        checkpoints: [],
        file: null,
      },
    ],
  },
} as ReportFacts['job'];
const series = examples['GET /api/jobs/{job_id}/metrics'] as ReportFacts['series'];
const data = { rows: 60, sha256: 'ab'.repeat(32) };

test('a report has verdict, charts, figures, settings and the digest of the data, and loads nothing', () => {
  const report = reportOf({ job, series, data, hasRows: false });
  for (const part of [
    'It learned: &quot;yes&quot; &amp; more',
    'Evaluation loss: 2.31 → <b>0.42</b>',
    'ROUGE-L: 0.18 → <b>0.47</b>',
    '<svg viewBox',
    '<td><bdi>0.5612</bdi></td>',
    data.sha256,
    'Learning rate',
  ]) {
    assert.ok(report.includes(part), part);
  }
  assert.not.match(report, /\b(?:src|href|url\()/);
  assert.not.match(report, '<script');
  for (const secret of ['swordfish', '/home/jo', 'C:\\']) assert.not.match(report, secret);
  assert.match(report, 'base <bdi>tiny</bdi>');
  assert.match(report, '<bdi>judge</bdi>');
});

test('prompts and answers are in it if that is wanted, escaped', () => {
  assert.not.match(reportOf({ job, series, data, hasRows: false }), 'my order');
  const report = reportOf({ job, series, data, hasRows: true });
  for (const part of ['Where is &lt;b&gt;my order', '(empty answer)', 'It is on its way.', 'On its way.']) {
    assert.ok(report.includes(part), part);
  }
});

test('a run that ended before its first step has a report without charts', () => {
  const bare = { ...job, verdict: null, metrics: null };
  const report = reportOf({ job: bare, series: { train: [], eval: [] }, data: null, hasRows: true });
  assert.not.match(report, '<svg');
  assert.match(report, 'the rows were deleted');
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
