/** Intervals of shares and of their difference, against published figures. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { difference, type Share, wilson } from '../../../src/domain/traffic/wilson.ts';

const rounded = ({ share, low, high }: Share) => [share, low, high].map((one) => Number(one.toFixed(4)));
const of = ([successes, trials]: readonly [number, number]) => wilson(successes, trials) as Share;

test('score intervals are those that Newcombe lists', () => {
  // Newcombe 1998, "Two-sided confidence intervals for the single proportion", table I, method 3.
  assert.equal(rounded(of([81, 263])), [0.308, 0.2553, 0.3662]);
  assert.equal(rounded(of([15, 148])), [0.1014, 0.0624, 0.1605]);
  assert.equal(rounded(of([0, 20])), [0, 0, 0.1611]);
  assert.equal(rounded(of([1, 29])), [0.0345, 0.0061, 0.1718]);
  assert.is(wilson(0, 0), null);
});

test('intervals of differences are those that Newcombe lists', () => {
  // Newcombe 1998, table II, method 10; he subtracts the second from the first.
  for (const [first, second, low, high] of [
    [[48, 80], [56, 70], 0.0524, 0.3339],
    [[3, 10], [9, 10], 0.1705, 0.809],
    [[0, 20], [10, 10], 0.6791, 1],
    [[10, 10], [10, 10], -0.2775, 0.2775],
  ] as const) {
    const found = rounded(difference(of(first), of(second)));
    assert.equal([found[1], found[2]], [low, high]);
  }
});

test.run();
