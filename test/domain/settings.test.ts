import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Profile, profileSettings } from '../../src/domain/profile.ts';
import { recommendedSettings, resolveSettings, type SettingsContext } from '../../src/domain/settings.ts';
import type { AppError } from '../../src/errors.ts';

const context = (
  profile: Profile,
  cuda: boolean,
  defaultBatchSize: number | null = null,
): SettingsContext => ({
  profile,
  cuda,
  quantizes: true,
  bfloat16FromWidth: null,
  defaultBatchSize,
  lrSchedulerTypes: ['cosine', 'linear', 'reduce_lr_on_plateau', 'greedy'],
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

/** What is refused before a job is made of it: the field that is named, and a word of the advice. */
const refused: [string, object, string, string | RegExp][] = [
  ['keep_best without a validation part', { keep_best: true }, 'eval_split', 'keep_best'],
  ['early stopping without one', { early_stopping_patience: 2 }, 'eval_split', 'early_stopping_patience'],
  ['a plateau without one', { lr_scheduler_type: 'reduce_lr_on_plateau' }, 'eval_split', 'plateau'],
  ['greedy without one', { lr_scheduler_type: 'greedy', eval_split: 0 }, 'eval_split', 'greedy'],
  [
    'two that need it',
    { keep_best: true, early_stopping_patience: 1 },
    'eval_split',
    'keep_best and early_stopping_patience need a',
  ],
  [
    'rlhf with one answer a step',
    { strategy: 'rlhf', per_device_train_batch_size: 1, gradient_accumulation_steps: 1 },
    'gradient_accumulation_steps',
    /is 1; make it a multiple of 4, 3, 2/,
  ],
  [
    'rlhf with a step that nothing divides',
    { strategy: 'rlhf', per_device_train_batch_size: 5, gradient_accumulation_steps: 7 },
    'gradient_accumulation_steps',
    'is 35',
  ],
  ['qlora on 8 bits', { strategy: 'qlora', use_8bit: true }, 'use_8bit', 'sft'],
  ['4 and 8 bits at once', { use_4bit: true, use_8bit: true }, 'use_8bit', 'one of them'],
  ['a paged optimizer without CUDA', { optim: 'paged_adamw_8bit' }, 'optim', /must be one of|NVIDIA/],
];
const issuesOf = (changes: object, of: SettingsContext) => {
  try {
    resolveSettings(request(changes), 'standard', of);
  } catch (error) {
    return (error as AppError).issues;
  }
  return [];
};
for (const [name, changes, field, word] of refused) {
  test(`refused before a start: ${name}`, () => {
    const [issue] = issuesOf(changes, context('low_end', false));
    assert.equal(issue?.loc, ['body', field]);
    assert.match(issue?.msg ?? '', word);
  });
}

test('what the trainer can do is not refused', () => {
  for (const changes of [
    { strategy: 'rlhf', per_device_train_batch_size: 3, gradient_accumulation_steps: 1 },
    { strategy: 'rlhf', per_device_train_batch_size: 1, gradient_accumulation_steps: 2 },
    { strategy: 'rlhf' },
    { strategy: 'qlora', use_4bit: false },
    { keep_best: true, lr_scheduler_type: 'greedy', eval_split: 0.1 },
  ]) {
    assert.equal(issuesOf(changes, context('low_end', false)), [], JSON.stringify(changes));
  }
});

test('quantized weights are refused by name where bitsandbytes is missing, and not recommended', () => {
  const without = { ...context('low_end', true), quantizes: false };
  assert.equal(issuesOf({ use_4bit: true }, without)[0]?.loc, ['body', 'use_4bit']);
  assert.equal(issuesOf({ use_8bit: true }, without)[0]?.loc, ['body', 'use_8bit']);
  assert.equal(issuesOf({ strategy: 'qlora' }, without)[0]?.loc, ['body', 'strategy']);
  assert.is(recommendedSettings(without).use_4bit, false);
});

test.run();
