import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { draftLimit, tokenBudgets } from '../../src/inference/batching/token-budget.ts';

test('answers continue by one token beside any prompt', () => {
  assert.equal(tokenBudgets([1, 4000, 1]), [1, 128, 1]);
  assert.equal(tokenBudgets([1, 1, 1]), [1, 1, 1]);
});

test('a prompt alone is evaluated in large parts', () => {
  assert.equal(tokenBudgets([4000]), [512]);
  assert.equal(tokenBudgets([30]), [30]);
});

test('a short prompt is not kept waiting by long ones, which share the rest', () => {
  assert.equal(tokenBudgets([4000, 20]), [236, 20]);
  assert.equal(tokenBudgets([4000, 20, 4000]), [118, 20, 118]);
  assert.equal(tokenBudgets([4000, 20, 4000, 1]), [54, 20, 54, 1]);
});

test('nobody gets nothing, and a step stays within the batch', () => {
  for (let count = 1; count <= 8; count++) {
    const shares = tokenBudgets(
      Array.from({ length: count }, (_, index) => (index % 3 === 0 ? 1 : 1000 * index)),
    );
    assert.ok(shares.every((share) => share >= 1));
    assert.ok(shares.reduce((sum, share) => sum + share, 0) <= 512);
  }
});

test('drafts never make another request wait', () => {
  assert.is(draftLimit([9]), 15);
  assert.is(draftLimit([9, 1, 4, 2]), 3);
  assert.is(draftLimit([9, 0, 4]), 0);
  assert.is(draftLimit(Array.from({ length: 8 }, () => 5)), 1);
});

test.run();
