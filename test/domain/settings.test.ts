import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Profile, profileSettings } from '../../src/domain/profile.ts';
import { recommendedSettings, resolveSettings, type SettingsContext } from '../../src/domain/settings.ts';

const context = (
  profile: Profile,
  cuda: boolean,
  defaultBatchSize: number | null = null,
): SettingsContext => ({
  profile,
  cuda,
  defaultBatchSize,
  lrSchedulerTypes: ['cosine', 'linear'],
  optimizers: ['adamw_torch'],
});
const request = (changes: object) => ({ task: 't', model_name: 'a/b', dataset: 'd', ...changes });

test('the recommended settings of each profile are the table of the specification', () => {
  for (const profile of ['low_end', 'mid_range', 'high_end'] as const) {
    const settings = recommendedSettings(context(profile, true));
    for (const [name, value] of Object.entries(profileSettings[profile]))
      assert.is(settings[name], value, name);
  }
});

test('4-bit of a profile is dropped without CUDA; 4-bit of a request is kept for the trainer to judge', () => {
  assert.is(recommendedSettings(context('low_end', false)).use_4bit, false);
  assert.is(
    resolveSettings(request({ use_4bit: true }), 'standard', context('low_end', false)).use_4bit,
    true,
  );
});

test('what a request says wins, null is as absent, and related values follow', () => {
  const settings = resolveSettings(
    request({ lora_r: 8, learning_rate: null, per_device_train_batch_size: 6 }),
    'standard',
    context('low_end', false),
  );
  assert.is(settings.lora_r, 8);
  assert.is(settings.lora_alpha, 16);
  assert.is(settings.learning_rate, 2e-4);
  assert.is(settings.per_device_eval_batch_size, 6);
  assert.is(
    resolveSettings(request({ lora_r: 8, lora_alpha: 5 }), 'standard', context('low_end', false)).lora_alpha,
    5,
  );
});

test('SERVICE_DEFAULT_BATCH_SIZE counts where a request names none', () => {
  assert.is(recommendedSettings(context('low_end', false, 3)).per_device_train_batch_size, 3);
  assert.is(
    resolveSettings(request({ per_device_train_batch_size: 2 }), 'standard', context('low_end', false, 3))
      .per_device_train_batch_size,
    2,
  );
});

test('a fixed max_seq_length is demanded of the accelerated provider alone', () => {
  assert.throws(
    () => resolveSettings(request({ max_seq_length: -1 }), 'accelerated', context('high_end', true)),
    /-1/,
  );
  assert.is(
    resolveSettings(request({ max_seq_length: -1 }), 'standard', context('high_end', true)).max_seq_length,
    -1,
  );
});

test.run();
