/** What charts compute: moving averages, places on the x axes, lines over one another, and files. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { axes, formatClock, tickTexts } from '../../ui/charts/axis.ts';
import { chartCsv } from '../../ui/charts/chart-csv.ts';
import { type Mark, marksAt } from '../../ui/charts/marks.ts';
import { overlaid } from '../../ui/charts/overlay.ts';
import { robustRange } from '../../ui/charts/robust-range.ts';
import { Smoothed, smoothedEnd, type Values } from '../../ui/charts/smoothing.ts';
import { formatMemory, formatNumber } from '../../ui/elements/format.ts';
import { RunSeries } from '../../ui/state/runs/series.ts';

/** TensorBoard's smoothing as its documentation puts it: an average of weights w^k, divided by their sum. */
const byDefinition = (values: Values, weight: number, at: number) => {
  const known = values.slice(0, at + 1).filter((value) => value !== null);
  const shares = known.map((_, index) => weight ** (known.length - 1 - index));
  const sum = known.reduce((total, value, index) => total + value * (shares[index] as number), 0);
  return sum / shares.reduce((total, share) => total + share, 0);
};
const near = (one: number | null | undefined, other: number) =>
  assert.ok(Math.abs((one ?? Number.NaN) - other) < 1e-9, `${one} is not ${other}`);

test('the moving average has no bias towards zero, leaves gaps, and goes on from where it was', () => {
  const values: (number | null)[] = [8, 4, null, 2, 1];
  const smoothed = new Smoothed();
  const first = smoothed.follow(values, 0.6, 0);
  assert.is(first[0], 8, 'the first value, not 0.4 of it');
  assert.is(first[2], null);
  values.push(16, null, 4);
  assert.is(smoothed.follow(values, 0.6, 0), first, 'the same array, longer');
  for (const [index, value] of values.entries()) {
    if (value !== null) near(first[index], byDefinition(values, 0.6, index));
  }
  near(smoothedEnd(values, 0.6), first.at(-1) as number);
  assert.is(smoothedEnd([null, null], 0.6), null);
  assert.equal(smoothed.follow([1, null, 3], 0, 0), [1, null, 3], 'no weight, no change');
});

test('only new values are read, until earlier ones were rewritten', () => {
  const values: number[] = [1, 2, 3];
  const smoothed = new Smoothed();
  smoothed.follow(values, 0.5, 0);
  values[0] = 100;
  values.push(4);
  near(smoothed.follow(values, 0.5, 0)[3], byDefinition([1, 2, 3, 4], 0.5, 3));
  near(smoothed.follow(values, 0.5, 1)[3], byDefinition(values, 0.5, 3));
  near(smoothed.follow(values, 0.9, 1)[3], byDefinition(values, 0.9, 3));
});

test('steps have places by epoch and by training time, which never go back after a resume', () => {
  const series = new RunSeries();
  const add = (step: number, seconds: number) =>
    series.add({ step, loss: 1, epoch: step / 2, elapsed_seconds: seconds });
  for (let step = 1; step <= 6; step += 1) add(step, step * 10);
  assert.equal(
    [series.xs('step'), series.xs('epoch'), series.xs('time')],
    [
      [1, 2, 3, 4, 5, 6],
      [0.5, 1, 1.5, 2, 2.5, 3],
      [10, 20, 30, 40, 50, 60],
    ],
  );
  const before = series.rewritten;
  add(4, 55);
  assert.ok(series.rewritten > before, 'a repeated step may differ in other values than the loss');
  assert.equal(series.xs('time'), [10, 20, 30, 55, 55, 60]);
  add(5, 80);
  add(6, 105);
  add(7, 130);
  assert.equal(series.xs('time'), [10, 20, 30, 55, 80, 105, 130]);
  series.add({ step: 4, loss: 9, epoch: 2, elapsed_seconds: 55 });
  assert.ok(series.rewritten > before);
  assert.equal(
    (['step', 'epoch', 'time'] as const).map((name) => series.placeOf({ step: 6, epoch: 2.9 }, name)),
    [6, 2.9, 105],
  );
  assert.is(series.placeOf({ step: 0, epoch: 0 }, 'time'), 0);
});

test('lines with places of their own are put over one another', () => {
  const found = overlaid([
    { x: [1, 2, 4], values: [10, null, 40] },
    { x: [2, 3], values: [20, 30] },
    { x: [], values: [] },
  ]);
  assert.equal(found, {
    x: [1, 2, 3, 4],
    values: [
      [10, null, null, 40],
      [null, 20, 30, null],
      [null, null, null, null],
    ],
  });
});

test('a file has the values as measured, every x axis, and no text that a spreadsheet would compute', () => {
  const steps = [1, 2];
  const xs = [
    { axis: axes.step, values: steps },
    { axis: axes.time, values: [0.5, 1] },
  ];
  const line = (label: string, values: Values) => ({ label, colour: '--line-1', values, smooth: true });
  const loss = { heading: 'Loss', xs, lines: [line('Training', [3, -1e-7]), line('Evaluation', [null, 2])] };
  assert.is(chartCsv([loss]), 'step,training_seconds,"Training","Evaluation"\r\n1,0.5,3,\r\n2,1,-1e-7,2\r\n');
  const memory = { heading: 'Memory', xs, lines: [line('Memory', [5, 6])] };
  const both = 'step,training_seconds,"Loss: Training","Loss: Evaluation","Memory"';
  assert.is(chartCsv([loss, memory]).split('\r\n')[0], both);
  const names = ['=1+1', '+1', '-1', '@a', '\tb', 'a "b"'];
  const hostile = {
    heading: 'Loss',
    xs: [xs[0] as (typeof xs)[0]],
    lines: names.map((name) => line(name, steps)),
  };
  assert.is(chartCsv([hostile]).split('\r\n')[0], `step,"'=1+1","'+1","'-1","'@a","'\tb","a ""b"""`);
});

test('a range leaves out a few far values, and no others', () => {
  const rangeOf = (...lines: Values[]) => {
    const all = lines.flat().filter((value) => value !== null);
    const whole = { low: Math.min(...all), high: Math.max(...all) };
    return robustRange(lines, 0, Math.max(...lines.map(({ length }) => length)) - 1, whole);
  };
  const noisy = Array.from({ length: 200 }, (_, step) => 1 + (step % 10) / 10);
  assert.equal(rangeOf(noisy), { low: 1, high: 1.9 });
  assert.equal(rangeOf([90, ...noisy]), { low: 1, high: 1.9 }, 'an early value');
  assert.equal(rangeOf([...noisy, -50]), { low: 1, high: 1.9 }, 'a late, low value');
  assert.equal(rangeOf([90, 1, 2, 1.5, 1.2, 1.1]), { low: 1, high: 90 }, 'a short run is shown whole');
  assert.equal(rangeOf([90, ...noisy.slice(0, 28)]).high, 90, 'of 29 values, too');
  assert.equal(rangeOf([90, ...noisy.slice(0, 29)]).high, 1.9);
  const falling = noisy.map((_, step) => 3 * Math.exp(-step / 30));
  assert.is(rangeOf(falling).high, 3, 'a usual curve is whole');
  assert.equal(rangeOf([5, 5, 5, 5, 90]), { low: 5, high: 90 }, 'of equal values nothing is known');
  assert.equal(rangeOf([90, 1]), { low: 1, high: 90 });
  const evaluations = noisy.map((_, step) => (step % 50 === 49 ? 9 : null));
  assert.equal(rangeOf(noisy, evaluations), { low: 1, high: 9 }, 'each line is judged by itself');
  const long = Array.from({ length: 100_000 }, (_, step) => (step === 0 ? 1e6 : 2 + Math.sin(step)));
  const { low, high } = rangeOf(long);
  assert.ok(low >= 1 && low < 1.1 && high <= 3 && high > 2.9);
});

test('a mark belongs to the point that is nearest', () => {
  const marks: Mark[] = [
    { kind: 'best', at: 12 },
    { kind: 'checkpoint', at: 12 },
    { kind: 'resume', at: 100 },
  ];
  assert.equal(
    [0, 1, 2, 3].map((index) => marksAt(marks, [1, 10, 20], index)),
    [[], ['Best evaluation', 'Checkpoint'], ['Resumed'], []],
  );
});

test('the ticks of a narrow range are told apart', () => {
  const ticks = (from: number, by: number) => [0, 1, 2, 3].map((count) => from + count * by);
  const texts = (from: number, by: number, format = formatNumber) => tickTexts(ticks(from, by), by, format);
  assert.equal(texts(0, 0.05), ['0', '0.05', '0.1', '0.15']);
  assert.equal(texts(2.5, 0.25), ['2.5', '2.75', '3', '3.25']);
  assert.equal(texts(1.0005, 0.0005), ['1.0005', '1.001', '1.0015', '1.002']);
  assert.equal(texts(0.0001, 0.00001, axes.epoch.format), ['1e-4', '1.1e-4', '1.2e-4', '1.3e-4']);
  assert.equal(texts(20_000, 0.5), ['20,000', '20,000.5', '20,001', '20,001.5']);
  assert.equal(texts(5, 0), ['5', '5', '5', '5'], 'a distance of nothing');
  for (const [from, by] of [
    [2 ** 30, 2 ** 16],
    [2 ** 29, 2 ** 16],
  ] as const)
    assert.is(new Set(texts(from, by, formatMemory)).size, 4);
});

test('an evaluation before the first step is at step 0, in the chart and in its file', () => {
  const point = (step: number) => ({ step, loss: 3 - step, epoch: step / 2, elapsed_seconds: step * 10 });
  const evaluation = (step: number, loss: number) => {
    const metrics = { eval_loss: loss };
    return { step, epoch: step / 2, metrics };
  };
  const live = new RunSeries();
  live.addEval(evaluation(0, 9));
  for (const step of [1, 2]) live.add(point(step));
  live.addEval(evaluation(2, 5));
  const loaded = new RunSeries();
  for (const step of [1, 2]) loaded.add(point(step));
  loaded.addEval(evaluation(0, 9));
  loaded.addEval(evaluation(2, 5));
  for (const series of [live, loaded]) {
    assert.equal(
      [series.xs('step'), series.xs('epoch'), series.xs('time')],
      [
        [0, 1, 2],
        [0, 0.5, 1],
        [0, 10, 20],
      ],
    );
    const evaluated = series.evaluated.get('eval_loss') ?? [];
    const lines = [
      { label: 'Training', colour: '--line-1', values: series.columns.loss },
      { label: 'Evaluation', colour: '--line-2', values: evaluated },
    ];
    const xs = [{ axis: axes.step, values: series.xs('step') }];
    assert.is(
      chartCsv([{ heading: 'Loss', xs, lines }]),
      'step,"Training","Evaluation"\r\n0,,9\r\n1,2,\r\n2,1,5\r\n',
    );
  }
});

test('times are read at a glance', () => {
  assert.equal([0.25, 12, 75, 3_723].map(formatClock), ['0.3 s', '12 s', '1:15', '1:02:03']);
});

test.run();
