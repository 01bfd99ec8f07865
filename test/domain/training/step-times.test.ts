import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { fixedShare } from '../../../src/domain/training/estimate/step-times.ts';

/** Steps of 300 to 500 tokens at 1 ms a token, and what is added to each. */
const steps = (count: number, added: (index: number) => number) =>
  Array.from({ length: count }, (_, index) => {
    const tokens = 300 + 50 * (index % 5);
    return { tokens, seconds: tokens / 1000 + added(index) };
  });
const share = (found: number) => Math.round(found * 1000) / 1000;

test('the share is what a step takes at no tokens', () => {
  assert.is(share(fixedShare(steps(40, () => 0))), 0);
  assert.is(share(fixedShare(steps(40, () => 0.4))), 0.5);
  assert.is(share(fixedShare(steps(40, () => 1.2))), 0.75);
});

test('steps with an evaluation or a checkpoint do not change it, nor do times that fall with the tokens', () => {
  assert.is(share(fixedShare(steps(40, (index) => 0.4 + (index % 12 === 11 ? 30 : 0)))), 0.5);
  const falling = steps(40, () => 0).map(({ tokens }) => ({ tokens, seconds: 1 - tokens / 1000 }));
  assert.is(fixedShare(falling), 1);
});

test('few steps and steps of the same tokens tell nothing', () => {
  assert.is(fixedShare([]), 0);
  assert.is(fixedShare(steps(15, () => 0.4)), 0);
  const even = steps(40, () => 0.4).map((step, index) => ({ ...step, tokens: 400 + (index % 3) }));
  assert.is(fixedShare(even), 0);
});

test.run();
