import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type PresetFacts,
  presetNames,
  presetSettings,
  suitedRate,
  usualValidationShare,
} from '../../../src/contract/training/presets.ts';

const facts = (changes: Partial<PresetFacts> = {}): PresetFacts => ({
  strategy: 'sft',
  rows: 54,
  heldOutRows: 6,
  parameters: 135e6,
  secondsPerRow: null,
  rowsAtOnce: 8,
  ...changes,
});
const of = (name: (typeof presetNames)[number], changes: Partial<PresetFacts> = {}) => {
  const found = presetSettings(name, facts(changes));
  assert.ok(found);
  const rows = changes.rows ?? 54;
  const ofStep = found.per_device_train_batch_size * found.gradient_accumulation_steps;
  return { ...found, ofStep, steps: Math.ceil(found.num_train_epochs * Math.ceil(rows / ofStep)) };
};

test('sixty rows are seen until there are enough steps', () => {
  assert.equal(presetSettings('quick', facts()), {
    num_train_epochs: 5,
    learning_rate: 1e-3,
    per_device_train_batch_size: 4,
    gradient_accumulation_steps: 1,
    keep_best: true,
  });
  assert.equal(
    presetNames.map((name) => [of(name).num_train_epochs, of(name).steps]),
    [
      [5, 70],
      [9, 126],
      [18, 252],
    ],
  );
});

test('more rows are seen less often, in larger steps', () => {
  const table = [360, 1_800, 100_000].map((rows) =>
    presetNames
      .map((name) => of(name, { rows }))
      .map(({ num_train_epochs, ofStep }) => [num_train_epochs, ofStep]),
  );
  assert.equal(table, [
    [
      [2, 8],
      [3, 8],
      [6, 8],
    ],
    [
      [1, 16],
      [3, 16],
      [5, 16],
    ],
    [
      [1, 32],
      [3, 32],
      [5, 32],
    ],
  ]);
});

test('with any number of rows each preset trains longer than the one before, and a few rows have a bound', () => {
  for (const rows of [9, 31, 32, 54, 199, 200, 999, 1_000, 7_000, 1e6]) {
    const steps = presetNames.map((name) => of(name, { rows }).steps);
    assert.ok(
      steps.every((count, place) => place === 0 || count > (steps[place - 1] as number)),
      `${rows} rows: ${steps}`,
    );
    assert.ok(of('thorough', { rows }).num_train_epochs <= 30);
  }
});

test('a small model has a higher rate than a large one, and pairs of answers a lower one', () => {
  const rates = [0.7e6, 135e6, 0.6e9, 1.7e9, 8e9, 70e9, null].map(
    (parameters) => of('balanced', { parameters }).learning_rate,
  );
  assert.equal(rates, [3e-3, 1e-3, 6e-4, 4e-4, 3e-4, 1e-4, 2e-4]);
  for (const strategy of ['dpo', 'kto'])
    assert.is(of('balanced', { parameters: 8e9, strategy }).learning_rate, 7e-5);
  assert.is(of('balanced', { parameters: 135e6, adapter: 'full' }).learning_rate, 1e-4, 'all weights');
});

test('a training that would take long sees its rows less often, as long as its steps are enough', () => {
  const slow = { rows: 1_800, secondsPerRow: 1 };
  // Ten minutes are a third of a pass; sixty steps are a little more than half of one.
  assert.is(of('quick', slow).num_train_epochs, 0.54);
  assert.is(of('quick', slow).steps, 62);
  assert.is(of('balanced', slow).num_train_epochs, 2);
  assert.is(of('thorough', slow).num_train_epochs, 5);
  assert.is(of('quick', { rows: 1_800, secondsPerRow: 0.01 }).num_train_epochs, 1);
});

test('the rows of a step are computed as many at once as memory allows', () => {
  const parts = [1, 2, 3, 8, 100].map((rowsAtOnce) => {
    const { per_device_train_batch_size: size, gradient_accumulation_steps: times } = of('quick', {
      rows: 1_800,
      rowsAtOnce,
    });
    return [size, times];
  });
  assert.equal(parts, [
    [1, 16],
    [2, 8],
    [2, 8],
    [8, 2],
    [16, 1],
  ]);
});

test('without held-out rows no checkpoint is the best, and a run of rlhf has no preset', () => {
  assert.is(of('thorough', { heldOutRows: 0 }).keep_best, false);
  assert.is(presetSettings('quick', facts({ strategy: 'rlhf' })), null);
});

test('a rate suits a strategy as the presets have it, and none is known for rlhf or a model of unknown size', () => {
  for (const strategy of ['sft', 'dpo'])
    assert.is(suitedRate(strategy, 135e6), of('quick', { strategy, parameters: 135e6 }).learning_rate);
  assert.equal([suitedRate('sft', 135e6), suitedRate('dpo', 135e6)], [1e-3, 3e-4]);
  assert.equal([suitedRate('rlhf', 135e6), suitedRate('sft', null)], [null, null]);
});

test('a tenth is held out of fifty rows and more, and never more than 200', () => {
  assert.equal([12, 49, 50, 400, 2_000].map(usualValidationShare), [0, 0, 0.1, 0.1, 0.1]);
  for (const rows of [2_001, 2_345, 7_000, 123_457, 3e7]) {
    const held = Math.round(rows * usualValidationShare(rows));
    assert.ok(held <= 200 && held >= 198, `${held} of ${rows}`);
  }
});

test.run();
