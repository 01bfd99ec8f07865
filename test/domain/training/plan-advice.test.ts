import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Settings } from '../../../src/contract/settings.ts';
import { fitAdvice } from '../../../src/domain/training/estimate/plan-advice.ts';
import { type SettingsContext, settingsOf } from '../../../src/domain/training/settings.ts';

const context: SettingsContext = {
  profile: 'mid_range',
  cuda: false,
  quantizes: true,
  bfloat16FromWidth: null,
  cores: 8,
  gpus: 0,
  cluster: false,
  oneWorker: [],
  defaultBatchSize: null,
  lrSchedulerTypes: ['linear'],
  optimizers: ['adamw_torch'],
  optimizerStateBytes: {},
};
const chosen = (changes: object, quantizes = true) => ({
  settings: settingsOf({ task: 't', model_name: 'a/b', dataset: 'd', ...changes }, context),
  context: { ...context, quantizes },
});
const eight = { per_device_train_batch_size: 8, gradient_accumulation_steps: 2, max_seq_length: 1000 };
/** Gigabytes that a run takes beside 4 for its weights: by its tokens alone. */
const bytesOf = (choices: { settings: Settings }) => (changes: Partial<Settings>) => {
  const { use_4bit, per_device_train_batch_size: batch, ...others } = { ...choices.settings, ...changes };
  return (
    (use_4bit ? 1 : 4) + (batch * others.max_seq_length) / 1000 / (others.gradient_checkpointing ? 4 : 1)
  );
};
const smaller = 'Choose a smaller model.';

test('what saves most memory is advised first', () => {
  const choices = chosen(eight);
  assert.equal(fitAdvice(choices, null, bytesOf(choices)), [
    'Set per_device_train_batch_size to 1 and gradient_accumulation_steps to 16: the same rows per step.',
    'Set gradient_checkpointing to true.',
    'Set max_seq_length to 500.',
    'Set use_4bit to true (strategy qlora).',
  ]);
});

test('what saves nothing, is set already or cannot be done is not advised', () => {
  const choices = chosen({ ...eight, gradient_checkpointing: true }, false);
  const bytesWith = ({ max_seq_length = 1000, ...others }: Partial<Settings>) => {
    assert.not.ok(others.use_4bit);
    return max_seq_length;
  };
  assert.equal(fitAdvice(choices, null, bytesWith), ['Set max_seq_length to 500.', smaller]);
  const least = chosen({ per_device_train_batch_size: 1, max_seq_length: 256, use_4bit: true });
  assert.equal(
    fitAdvice(least, null, () => null),
    ['Set gradient_checkpointing to true.', smaller],
  );
});

test('half of a length without limit is half of what is reckoned with', () => {
  const advice = fitAdvice(chosen({ ...eight, max_seq_length: -1 }), null, () => null);
  assert.ok(advice.includes('Set max_seq_length to 512.'), advice.join(' '));
});

test('a run that lacks only disk is told how much', () => {
  const shortage = { neededBytes: 5e9, freeBytes: 2.5e9, reservedBytes: 0, what: 'the run', where: '/data' };
  const [first, ...others] = fitAdvice(chosen(eight), shortage, null);
  assert.match(first ?? '', /^Free 3 GB of disk in \/data/);
  assert.equal(others, [smaller]);
});

test.run();
