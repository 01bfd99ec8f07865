import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { sizeWarnings } from '../../../src/domain/datasets/size-guidance.ts';

/** docs/specification.md, Datasets: parameters in billions, minimum, recommended. */
const table: [number, number, number][] = [
  [0.135, 100, 500],
  [0.999, 100, 500],
  [1, 200, 1000],
  [3, 200, 1000],
  [3.1, 500, 2000],
  [7, 500, 2000],
  [7.1, 1000, 5000],
  [70, 1000, 5000],
];
for (const [billions, minimum, recommended] of table) {
  test(`Size guidance: a model of ${billions}B needs ${minimum} and should have ${recommended} examples`, () => {
    const said = (count: number) => sizeWarnings(count, billions * 1e9).join(' ');
    assert.match(said(minimum - 1), `(minimum ${minimum})`);
    assert.match(said(minimum - 1), `${recommended} are recommended`);
    assert.not.match(said(minimum), 'minimum');
    assert.match(said(minimum), `${recommended} are recommended`);
    assert.match(said(recommended - 1), `${recommended - 1} examples`);
    assert.is(said(recommended), '');
  });
}

test('without a model, every model size that the dataset is too small for is listed', () => {
  assert.equal(sizeWarnings(5000, null), []);
  assert.equal(sizeWarnings(1000, null), [
    'The dataset has 1000 examples. Recommended: 2000 for models of 3B to 7B, 5000 for models over 7B.',
  ]);
  const [needed, recommended] = sizeWarnings(150, null);
  assert.match(
    needed as string,
    /The minimum is 200 for models of 1B to 3B, 500 .*, 1000 for models over 7B/,
  );
  assert.match(recommended as string, 'Recommended: 500 for models under 1B parameters.');
  assert.is(sizeWarnings(10, null).length, 1);
});

test.run();
