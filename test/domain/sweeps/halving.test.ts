/** Which trials of a sweep are stopped early. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Evaluation, shouldCull } from '../../../src/domain/sweeps/halving.ts';

/** A trial with these values at each ninth of its steps. */
const trial = (...values: (number | null)[]): Evaluation[] =>
  values.map((value, index) => ({ fraction: (index + 1) / 9, value }));

test('the first two go on; later ones if they are among the best third at the same point', () => {
  assert.not(shouldCull(trial(9), [], 'minimize'));
  assert.not(shouldCull(trial(9), [trial(1)], 'minimize'));
  assert.ok(shouldCull(trial(9), [trial(1), trial(2)], 'minimize'));
  assert.not(shouldCull(trial(0.5), [trial(1), trial(2)], 'minimize'));
  const five = [1, 2, 3, 4, 5].map((value) => trial(value));
  assert.not(shouldCull(trial(1.5), five, 'minimize'), 'second of six');
  assert.ok(shouldCull(trial(2.5), five, 'minimize'), 'third of six');
  assert.not(shouldCull(trial(4.5), five, 'maximize'));
  assert.ok(shouldCull(trial(0.5), five, 'maximize'));
});

test('trials are compared with the value that each had at the rung, not with later ones', () => {
  const improved = trial(5, 1, 1);
  assert.not(shouldCull(trial(4), [improved, trial(6)], 'minimize'));
  const [one, other] = [trial(5, 5, 1), trial(6, 6, 2)];
  assert.ok(shouldCull(trial(4, 4, 3), [one, other], 'minimize'), 'at the second rung');
  assert.not(shouldCull(trial(4, 4), [one, other], 'minimize'), 'still at the first');
  assert.not(shouldCull(trial(4, 4, 3), [one, trial(7)], 'minimize'), 'two came to the second');
});

test('nothing is worse than no value; equal values go on; whoever has made all steps is done', () => {
  assert.ok(shouldCull(trial(null), [trial(1), trial(2)], 'minimize'));
  assert.not(shouldCull(trial(1), [trial(null), trial(null)], 'maximize'));
  assert.not(shouldCull(trial(1), [trial(1), trial(1)], 'minimize'));
  assert.not(shouldCull([{ fraction: 1, value: 9 }], [trial(1, 1, 1), trial(1, 1, 1)], 'minimize'));
  assert.not(shouldCull([{ fraction: 0.05, value: 9 }], [trial(1), trial(2)], 'minimize'), 'before any rung');
});

test.run();
