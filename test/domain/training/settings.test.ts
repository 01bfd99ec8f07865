import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Profile } from '../../../src/contract/profiles.ts';
import { judgeSettings } from '../../../src/domain/training/setting-rules.ts';
import {
  recommendedSettings,
  type SettingsContext,
  settingsOf,
} from '../../../src/domain/training/settings.ts';
import type { TrainingRequest } from '../../../src/domain/training/training-request.ts';
import { createFaults } from '../../../src/faults.ts';

const context = (
  profile: Profile,
  cuda: boolean,
  defaultBatchSize: number | null = null,
): SettingsContext => ({
  profile,
  cuda,
  quantizes: true,
  bfloat16FromWidth: null,
  cores: 8,
  gpus: 2,
  cluster: false,
  oneWorker: ['rlhf', 'kto'].map((strategy) => ({
    strategy,
    provider: 'standard',
    why: `${strategy} does not`,
  })),
  defaultBatchSize,
  lrSchedulerTypes: ['cosine', 'linear', 'reduce_lr_on_plateau', 'greedy'],
  optimizers: ['adamw_torch', 'paged_adamw_8bit'],
  optimizerStateBytes: {},
});
const request = (changes: object) => ({ task: 't', model_name: 'a/b', dataset: 'd', ...changes });
const settings = (changes: object, of: SettingsContext) => settingsOf(request(changes), of);
const issuesOf = (
  changes: object,
  of: SettingsContext,
  { provider = 'standard', refused = [] as string[] } = {},
) => {
  const faults = createFaults();
  const fields = request(changes) as TrainingRequest;
  judgeSettings({ fields, refused: new Set(refused) }, provider, of, faults);
  return faults.issues();
};

test('the recommended settings of each profile are the table of the specification', () => {
  const table = {
    low_end: { use_4bit: true, bf16: null, batch: 1, accumulation: 8, length: 512 },
    mid_range: { use_4bit: true, bf16: null, batch: 2, accumulation: 4, length: 1024 },
    high_end: { use_4bit: false, bf16: true, batch: 4, accumulation: 2, length: 2048 },
  };
  for (const profile of ['low_end', 'mid_range', 'high_end'] as const) {
    const found = recommendedSettings(context(profile, true));
    assert.equal(
      {
        use_4bit: found.use_4bit,
        bf16: found.bf16,
        batch: found.per_device_train_batch_size,
        accumulation: found.gradient_accumulation_steps,
        length: found.max_seq_length,
      },
      table[profile],
    );
  }
});

test('4-bit of a profile is dropped without CUDA; 4-bit of a request is kept for the trainer to judge', () => {
  assert.is(recommendedSettings(context('low_end', false)).use_4bit, false);
  assert.is(settings({ use_4bit: true }, context('low_end', false)).use_4bit, true);
});

test('values of a request win, null means absent, and derived values follow', () => {
  const here = context('low_end', false);
  const found = settings({ lora_r: 8, learning_rate: null, per_device_train_batch_size: 6 }, here);
  assert.is(found.lora_r, 8);
  assert.is(found.lora_alpha, 16);
  assert.is(found.learning_rate, 2e-4);
  assert.is(found.per_device_eval_batch_size, 6);
  assert.is(settings({ lora_r: 8, lora_alpha: 5 }, here).lora_alpha, 5);
});

test('a switch that a request excludes is off, or left to the trainer', () => {
  const here = context('low_end', true);
  assert.is(settings({}, here).use_4bit, true);
  assert.is(settings({ use_8bit: true }, here).use_4bit, false);
  const there = context('high_end', true);
  assert.is(settings({}, there).bf16, true);
  assert.is(settings({ fp16: true }, there).bf16, null);
  assert.is(settings({ use_8bit: false, fp16: false }, there).bf16, true);
});

test('SERVICE_DEFAULT_BATCH_SIZE applies if a request names no batch size', () => {
  assert.is(recommendedSettings(context('low_end', false, 3)).per_device_train_batch_size, 3);
  assert.is(recommendedSettings(context('low_end', false, 3)).per_device_eval_batch_size, 3);
  const asked = settings({ per_device_train_batch_size: 2 }, context('low_end', false, 3));
  assert.is(asked.per_device_train_batch_size, 2);
});

test('the accelerated provider has no dora', () => {
  const there = context('high_end', true);
  const [issue] = issuesOf({ adapter: 'dora' }, there, { provider: 'accelerated' });
  assert.match(issue?.msg ?? '', 'set adapter to lora or rslora');
  assert.equal(issuesOf({ adapter: 'rslora' }, there, { provider: 'accelerated' }), []);
});

test('full goes with sft and whole weights, and has a learning rate of its own', () => {
  const there = context('mid_range', true);
  const all = settings({ adapter: 'full' }, there);
  assert.equal([all.learning_rate, all.use_4bit], [2e-5, false]);
  assert.is(settings({ adapter: 'full', learning_rate: 1e-4 }, there).learning_rate, 1e-4);
  assert.equal(issuesOf({ adapter: 'full' }, there), []);
  // A client may send back what was recommended.
  const { lora_r, lora_alpha, lora_dropout } = settings({}, there);
  assert.equal(issuesOf({ adapter: 'full', lora_r, lora_alpha, lora_dropout }, there), []);
  for (const [changes, provider, instead] of [
    [{ strategy: 'qlora' }, 'standard', 'set strategy to sft'],
    [{ strategy: 'dpo' }, 'standard', 'set strategy to sft'],
    [{ strategy: 'kto' }, 'standard', 'set strategy to sft'],
    [{ strategy: 'rlhf' }, 'standard', 'set strategy to sft'],
    [{ strategy: 'grpo', graders: ['right'] }, 'standard', 'set strategy to sft'],
    [{ use_4bit: true }, 'standard', 'leave use_4bit out'],
    [{ use_8bit: true }, 'standard', 'leave use_8bit out'],
    [{ lora_r: 8 }, 'standard', 'leave it out'],
    [{ lora_alpha: 8 }, 'standard', 'leave it out'],
    [{ lora_dropout: 0.1 }, 'standard', 'leave it out'],
    [{ target_modules: ['q_proj'] }, 'standard', 'leave it out'],
    [{ target_experts: true }, 'standard', 'leave it out'],
    [{}, 'accelerated', 'provider to standard'],
  ] as const) {
    const [issue] = issuesOf({ adapter: 'full', ...changes }, there, { provider });
    assert.match(issue?.msg ?? '', instead, JSON.stringify(changes));
    assert.equal(issue?.loc.at(-1), 'adapter');
  }
  const [issue] = issuesOf({ adapter: 'full', bf16: true }, context('low_end', false));
  assert.match(issue?.msg ?? '', 'leave bf16 out');
});

test('only the accelerated provider needs a fixed max_seq_length', () => {
  const there = context('high_end', true);
  const [issue] = issuesOf({ max_seq_length: -1 }, there, { provider: 'accelerated' });
  assert.match(issue?.msg ?? '', '-1');
  assert.equal(issuesOf({ max_seq_length: -1 }, there), []);
  assert.is(settings({ max_seq_length: -1 }, there).max_seq_length, -1);
});

/** What is refused before a job is made of it: the field that is named, and a word of the advice. */
const refused: [string, object, string, string | RegExp][] = [
  ['keep_best without validation rows', { keep_best: true }, 'eval_split', 'keep_best'],
  ['early stopping without them', { early_stopping_patience: 2 }, 'eval_split', 'early_stopping_patience'],
  ['a plateau without them', { lr_scheduler_type: 'reduce_lr_on_plateau' }, 'eval_split', 'plateau'],
  ['greedy without them', { lr_scheduler_type: 'greedy', eval_split: 0 }, 'eval_split', 'greedy'],
  [
    'two that need it',
    { keep_best: true, early_stopping_patience: 1 },
    'eval_split',
    'keep_best and early_stopping_patience need validation rows',
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
  [
    'grpo with groups that do not divide a step',
    { strategy: 'grpo', graders: ['right'], group_size: 5 },
    'gradient_accumulation_steps',
    /compares 5 answers .* is 8; make it a multiple of 5/,
  ],
  ['grpo without graders', { strategy: 'grpo' }, 'graders', 'at least one'],
  ['graders without validation rows', { graders: ['right'] }, 'eval_split', 'graders need validation rows'],
  ['a group size of another strategy', { strategy: 'rlhf', group_size: 4 }, 'group_size', 'grpo'],
  ['a beta without preferences', { strategy: 'sft', beta: 0.3 }, 'beta', 'strategy to dpo or kto'],
  ['a loss of pairs without preferences', { loss_type: 'ipo' }, 'loss_type', 'strategy to dpo'],
  [
    'label smoothing in a loss without it',
    { strategy: 'dpo', label_smoothing: 0.1 },
    'label_smoothing',
    'loss_type to robust',
  ],
  [
    'kto with one row a step',
    { strategy: 'kto', per_device_train_batch_size: 1, gradient_accumulation_steps: 1 },
    'gradient_accumulation_steps',
    'kto compares the rows of a step',
  ],
  ['the loss of pairs for single answers', { strategy: 'kto', loss_type: 'ipo' }, 'loss_type', 'to dpo'],
  ['workers that kto does not have', { workers: 2, strategy: 'kto' }, 'workers', 'kto does not'],
  ['qlora on 8 bits', { strategy: 'qlora', use_8bit: true }, 'use_8bit', 'sft'],
  ['4 and 8 bits at once', { use_4bit: true, use_8bit: true }, 'use_8bit', 'one of them'],
  ['a paged optimizer without CUDA', { optim: 'paged_adamw_8bit' }, 'optim', 'NVIDIA'],
  ['more workers than cores', { workers: 16 }, 'workers', 'has 8 cores for training; set workers to 1 to 8'],
  ['a step that they cannot share', { workers: 3 }, 'workers', 'set workers to one of 1, 2, 4, 8,'],
  ['workers that rlhf does not have', { workers: 2, strategy: 'rlhf' }, 'workers', 'rlhf does not'],
];
for (const [name, changes, field, word] of refused) {
  test(`refused before a start: ${name}`, () => {
    const [issue] = issuesOf(changes, context('low_end', false));
    assert.equal(issue?.loc, ['body', field]);
    assert.match(issue?.msg ?? '', word);
  });
}

test('the optimizers of bitsandbytes that page their state need CUDA; the advice names some that are there', () => {
  const paged = ['paged_adamw_32bit', 'paged_adamw_8bit', 'paged_ademamix_32bit', 'paged_lion_8bit'];
  const others = ['adamw_torch', 'adafactor', 'adamw_8bit', 'ademamix_8bit', 'lion_8bit', 'lion_32bit'];
  const machine = (cuda: boolean) => ({ ...context('low_end', cuda), optimizers: [...others, ...paged] });
  for (const optim of paged) {
    assert.equal(issuesOf({ optim }, machine(true)), []);
    assert.is(issuesOf({ optim, device: 'cpu' }, machine(true)).length, 1);
    const [issue] = issuesOf({ optim }, machine(false));
    const [, advice = ''] = (issue?.msg ?? '').split('; use ');
    const named = advice.split(/, or |, /);
    assert.ok(named.includes('adamw_torch'), advice);
    assert.equal(
      named.filter((name) => !others.includes(name)),
      [],
      issue?.msg,
    );
  }
  for (const optim of others) assert.equal(issuesOf({ optim }, machine(false)), []);
});

test('supported combinations are not refused', () => {
  for (const changes of [
    { strategy: 'rlhf', per_device_train_batch_size: 3, gradient_accumulation_steps: 1 },
    { strategy: 'rlhf', per_device_train_batch_size: 1, gradient_accumulation_steps: 2 },
    { strategy: 'rlhf' },
    { strategy: 'rlhf', graders: ['right'] },
    { strategy: 'grpo', graders: [{ name: 'right', weight: 2 }], group_size: 4, kl_beta: 0 },
    { strategy: 'dpo', beta: 0.3 },
    { strategy: 'dpo', loss_type: 'robust', label_smoothing: 0.1, sft_weight: 1 },
    { strategy: 'kto', beta: 0.3, per_device_train_batch_size: 2, gradient_accumulation_steps: 1 },
    { strategy: 'qlora', adapter: 'dora' },
    { strategy: 'sft', beta: 0.1 },
    { strategy: 'qlora', use_4bit: false },
    { workers: 8 },
    { workers: 6, per_device_train_batch_size: 3, gradient_accumulation_steps: 2 },
    { keep_best: true, lr_scheduler_type: 'greedy', eval_split: 0.1 },
  ]) {
    assert.equal(issuesOf(changes, context('low_end', false)), [], JSON.stringify(changes));
  }
});

test('on a machine with GPUs every worker needs one', () => {
  const there = context('low_end', true);
  assert.equal(issuesOf({ workers: 2 }, there), []);
  assert.match(issuesOf({ workers: 4 }, there)[0]?.msg ?? '', 'this machine has 2 GPUs');
  assert.equal(issuesOf({ workers: 4, device: 'cpu' }, there), []);
});

test('every broken rule is reported, except those on a field that could not be read', () => {
  const broken = { use_4bit: true, use_8bit: true, keep_best: true, optim: 'magic', device: 'cuda' };
  const here = context('low_end', false);
  const fieldsOf = (refused: string[]) => issuesOf(broken, here, { refused }).map(({ loc }) => loc.join('.'));
  assert.equal(fieldsOf([]).sort(), ['body.device', 'body.eval_split', 'body.optim', 'body.use_8bit']);
  assert.equal(fieldsOf(['eval_split', 'use_4bit']).sort(), ['body.device', 'body.optim']);
});

test('quantized weights are refused by name where bitsandbytes is missing, and not recommended', () => {
  const without = { ...context('low_end', true), quantizes: false };
  assert.equal(issuesOf({ use_4bit: true }, without)[0]?.loc, ['body', 'use_4bit']);
  assert.equal(issuesOf({ use_8bit: true }, without)[0]?.loc, ['body', 'use_8bit']);
  assert.equal(issuesOf({ strategy: 'qlora' }, without)[0]?.loc, ['body', 'strategy']);
  assert.is(recommendedSettings(without).use_4bit, false);
});

test.run();
