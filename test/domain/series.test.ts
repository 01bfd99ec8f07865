import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createTally, type Point, pickFrames, toSeries } from '../../src/domain/series.ts';

const event = (seq: number, step: number, loss: number, kind = 'train') => ({
  seq,
  jobId: 1,
  type: 'metrics',
  time: 't',
  payload: { kind, step, loss },
});

test('a step that a resumed run wrote again counts once, with its newest value', () => {
  const { train } = toSeries([event(1, 1, 3), event(2, 2, 2), event(3, 2, 2.5), event(4, 3, 1)], 0);
  assert.equal(
    train.map(({ step, loss }) => [step, loss]),
    [
      [1, 3],
      [2, 2.5],
      [3, 1],
    ],
  );
});

test('evaluations are apart, and a thinned series keeps its last point', () => {
  const events = Array.from({ length: 1000 }, (_, index) => event(index, index + 1, 1));
  const { train, eval: evaluations } = toSeries([...events, event(1001, 500, 2, 'eval')], 100);
  assert.ok(train.length <= 101);
  assert.is(train.at(-1)?.step, 1000);
  assert.equal(
    evaluations.map(({ step }) => step),
    [500],
  );
});

test('a thinned series is picked by how its frames begin, and is the one that all frames make', () => {
  const frames = [
    ...Array.from({ length: 100 }, (_, at) => ({ kind: 'train', step: at + 1, loss: at })),
    { kind: 'eval', step: 50, metrics: {} },
    // A resumed run did some steps again.
    ...Array.from({ length: 40 }, (_, at) => ({ kind: 'train', step: at + 81, loss: -at })),
    { kind: 'eval', step: 100, metrics: {} },
  ].map((payload, at) => ({ seq: at + 1, jobId: 1, type: 'metrics', time: 't', payload }));
  const beginnings = frames.map(({ seq, payload }) => [seq, JSON.stringify(payload).slice(0, 48)] as const);
  for (const points of [0, 1, 7, 50, 119, 120, 1000]) {
    const picked = new Set(pickFrames(beginnings, points));
    const thinned = toSeries(
      frames.filter(({ seq }) => picked.has(seq)),
      0,
    );
    assert.equal(thinned, toSeries(frames, points), `${points}`);
  }
});

test('energy adds up, peaks are peaks, means weigh by time, and the unknown stays null', () => {
  const point = (step: number, hardware?: object): Point => ({ step, ...(hardware ? { hardware } : {}) });
  const tally = createTally();
  const steps = [
    point(1, {
      seconds: 1,
      gpu_watt_hours: 500,
      gpu_peak_bytes: 7,
      cpu_mean_percent: 100,
      cpu_watt_hours: null,
    }),
    point(2),
    point(3, {
      seconds: 3,
      gpu_watt_hours: 1500,
      gpu_peak_bytes: 5,
      cpu_mean_percent: 20,
      cpu_watt_hours: null,
    }),
  ];
  for (const step of steps) tally.add(step);
  const whole = tally.consumption();
  assert.equal(whole, {
    gpu_kilowatt_hours: 2,
    cpu_kilowatt_hours: null,
    gpu_peak_bytes: 7,
    ram_peak_bytes: null,
    gpu_mean_utilization_percent: null,
    cpu_mean_percent: 40,
  });
  tally.add(point(4, { seconds: 0, gpu_watt_hours: 250 }));
  assert.equal(tally.consumption(), { ...whole, gpu_kilowatt_hours: 2.25 }, 'more can be added');
});

test('a run without a trace has no figures', () => {
  assert.equal(new Set(Object.values(createTally().consumption())), new Set([null]));
});

test.run();
