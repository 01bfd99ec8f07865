import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openStore, type Store } from '../../../src/db/store.ts';
import { maximumPoints, type Point, readRecent, readSeries } from '../../../src/domain/events/series.ts';
import { root, temporaryFolder } from '../../folders.ts';

/** A store with one job and these `metrics` frames, in this order, among frames of other types and jobs. */
function storeWith(frames: readonly Record<string, unknown>[]): { store: Store; jobId: number } {
  const store = openStore(join(temporaryFolder(), 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  const insert = (modelId: string) =>
    store.jobs.insert({
      ...{ modelId, state: 'running', task: 'text-generation', provider: 'standard', strategy: 'sft' },
      ...{ modelName: 'a/b', datasetName: 'rows.jsonl', createdAt: '2026-01-01T00:00:00.000Z' },
    });
  const [jobId, other] = [insert('one'), insert('two')];
  let seq = 0;
  const append = (job: number, type: string, payload: Record<string, unknown>) => {
    seq += 1;
    store.events.append({ seq, jobId: job, type, time: `t${seq}`, payload });
  };
  store.transaction(() => {
    append(other, 'metrics', { kind: 'train', step: 1, loss: 99 });
    for (const frame of frames) append(jobId, 'metrics', frame);
    append(jobId, 'log', { kind: 'sample', step: 2, text: 'hello' });
    append(jobId, 'log', { kind: 'train', step: 7 });
  });
  return { store, jobId };
}

const train = (step: number, loss = step) => ({ kind: 'train', step, loss });
const losses = (points: readonly Point[]) => points.map(({ step, loss }) => [step, loss]);
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

test('a step that a resumed run wrote again counts once, with its newest value', () => {
  const { store, jobId } = storeWith([train(1, 3), train(2, 2), train(2, 2.5), train(3, 1)]);
  const series = readSeries(store.events, jobId, 0);
  assert.equal(losses(series.train), [
    [1, 3],
    [2, 2.5],
    [3, 1],
  ]);
  assert.equal(series.train[0], { step: 1, loss: 3, time: 't2' });
  store.close();
});

test('a long series is bounded: an answer has at most 50,000 points, and totals are read one by one', () => {
  const { store, jobId } = storeWith(range(1, maximumPoints + 10_001).map((step) => train(step)));
  const { train: points } = readSeries(store.events, jobId, 0);
  assert.ok(points.length > maximumPoints / 3 && points.length <= maximumPoints, `${points.length} points`);
  assert.is(points.at(-1)?.step, maximumPoints + 10_001);
  let steps = 0;
  for (const { payload } of store.events.eachOfJob(jobId, 'metrics', 0)) {
    steps += 1;
    assert.is(payload.step, steps);
  }
  assert.is(steps, maximumPoints + 10_001);
  store.close();
});

test('evaluations are apart, one a step, and are never thinned', () => {
  const evaluations = [50, 100, 50].map((step, at) => ({ kind: 'eval', step, metrics: { eval_loss: at } }));
  const { store, jobId } = storeWith([...range(1, 1000).map((step) => train(step)), ...evaluations]);
  const series = readSeries(store.events, jobId, 1);
  assert.equal(
    series.eval.map(({ step, metrics }) => [step, metrics]),
    [
      [50, { eval_loss: 2 }],
      [100, { eval_loss: 1 }],
    ],
  );
  assert.equal(losses(series.train), [[1000, 1000]]);
  store.close();
});

test('a thinned series takes every k-th step of the whole one, and the last', () => {
  const { store, jobId } = storeWith([...range(1, 100), ...range(81, 120)].map((step) => train(step)));
  const whole = losses(readSeries(store.events, jobId, 0).train);
  assert.equal(
    whole.map(([step]) => step),
    range(1, 120),
  );
  for (const [points, stride] of [
    [1, 120],
    [7, 18],
    [50, 3],
    [119, 2],
    [120, 1],
    [1000, 1],
  ] as const) {
    const kept = whole.filter((_, at) => (at + 1) % stride === 0 || at === whole.length - 1);
    assert.equal(losses(readSeries(store.events, jobId, points).train), kept, `${points}`);
  }
  store.close();
});

test('the recent points are the last steps', () => {
  const { store, jobId } = storeWith([1, 2, 3, 4, 3, 4, 5].map((step, at) => train(step, at)));
  assert.equal(losses(readRecent(store.events, jobId, 3)), [
    [3, 4],
    [4, 5],
    [5, 6],
  ]);
  assert.is(readRecent(store.events, jobId, 100).length, 5);
  store.close();
});

test.run();
