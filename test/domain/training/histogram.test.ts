import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { histogramOf } from '../../../src/domain/training/dataset-analysis.ts';

test('every row is in the one bin that its length falls into', () => {
  const lengths = [0, 1, 1, 23, 24, 47, 47, 47];
  const { bins } = histogramOf(lengths, 512);
  assert.is(
    bins.reduce((sum, { count }) => sum + count, 0),
    lengths.length,
  );
  for (const { from, to, count } of bins) {
    assert.is(count, lengths.filter((length) => length >= from && length <= to).length, `${from} to ${to}`);
  }
  assert.equal(
    [bins[0], bins.at(-1)],
    [
      { from: 0, to: 1, count: 3 },
      { from: 46, to: 47, count: 3 },
    ],
  );
});

test('percentiles are lengths that occur, and rows at the limit are not truncated', () => {
  const lengths = Array.from({ length: 100 }, (_, index) => 100 - index);
  const { median, p95, p99, longest, truncatedRows } = histogramOf(lengths, 90);
  assert.equal([median, p95, p99, longest, truncatedRows], [50, 95, 99, 100, 10]);
});

test('no rows make one empty bin', () => {
  assert.equal(histogramOf([], 10), {
    ...{ bins: [{ from: 0, to: 0, count: 0 }], median: 0, p95: 0, p99: 0, longest: 0, truncatedRows: 0 },
  });
});

test.run();
