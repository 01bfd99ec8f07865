/** How much of a sweep's results goes with each setting. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { importanceOf } from '../../../src/domain/sweeps/importance.ts';

const rates = [1, 2, 3, 4, 5, 6, 7, 8, 9];
const results = (value: (rate: number) => number) =>
  rates.map((rate) => ({
    parameters: { learning_rate: rate, lora_r: rate % 2 === 0 ? 8 : 16, optim: rate < 5 ? 'sgd' : 'adamw' },
    value: value(rate),
  }));

test('a setting on which the result depends is important, also where the best value is in the middle', () => {
  const rising = importanceOf(
    ['lora_r', 'learning_rate'],
    results((rate) => rate ** 3),
  );
  assert.equal(
    rising.map(({ field }) => field),
    ['learning_rate', 'lora_r'],
  );
  assert.is(rising[0]?.correlation, 1);
  assert.ok((rising[0]?.share ?? 0) > 0.8);
  assert.ok((rising[1]?.share ?? 1) < 0.1);
  const [valley] = importanceOf(
    ['learning_rate'],
    results((rate) => (rate - 5) ** 2),
  );
  assert.ok(Math.abs(valley?.correlation ?? 1) < 1e-9);
  assert.ok((valley?.share ?? 0) > 0.4);
});

test('words have no correlation; a setting that explains nothing has 0; fewer than four results say nothing', () => {
  const [words] = importanceOf(
    ['optim'],
    results((rate) => (rate < 5 ? 1 : 2)),
  );
  assert.equal(words, { field: 'optim', share: 1, correlation: null });
  assert.is(
    importanceOf(
      ['optim'],
      results(() => 3),
    )[0]?.share,
    0,
  );
  assert.equal(importanceOf(['optim'], results(() => 3).slice(0, 3)), []);
});

test.run();
