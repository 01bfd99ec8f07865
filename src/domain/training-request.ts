import * as v from 'valibot';
import { quantizationTypes } from '../hardware/quantize.ts';

const bounded = (min: number, max: number, what: string) =>
  v.pipe(
    v.number(),
    v.finite(),
    v.minValue(min, `${what} must be at least ${min}`),
    v.maxValue(max, `${what} must be at most ${max}`),
  );
const whole = (min: number, max: number, what: string) =>
  v.pipe(bounded(min, max, what), v.integer(`${what} must be a whole number`));
const above = (bound: number, what: string) =>
  v.pipe(v.number(), v.finite(), v.gtValue(bound, `${what} must be greater than ${bound}`));
const name = (max: number) => v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(max));
const or = <S extends v.GenericSchema>(schema: S) => v.optional(v.nullable(schema));

/**
 * The training request of both sets: the specification's named fields with the bounds of decisions.md. A
 * field that is absent or null takes its recommended value; an unknown one is refused by name.
 */
export const trainingRequest = v.strictObject({
  task: name(64),
  model_name: name(1024),
  dataset: name(4096),
  provider: or(name(64)),
  strategy: or(name(64)),
  /** Wait for the job that runs instead of being refused. */
  queue: or(v.boolean()),
  compute_specs: or(v.picklist(['low_end', 'mid_range', 'high_end'])),
  num_train_epochs: or(
    v.pipe(above(0, 'num_train_epochs'), v.maxValue(1000, 'num_train_epochs must be at most 1000')),
  ),
  max_steps: or(
    v.pipe(
      whole(-1, 10_000_000, 'max_steps'),
      v.check((value) => value !== 0, 'max_steps must be -1 (no limit) or from 1 to 10000000'),
    ),
  ),
  per_device_train_batch_size: or(whole(1, 1024, 'per_device_train_batch_size')),
  per_device_eval_batch_size: or(whole(1, 1024, 'per_device_eval_batch_size')),
  gradient_accumulation_steps: or(whole(1, 4096, 'gradient_accumulation_steps')),
  learning_rate: or(v.pipe(above(0, 'learning_rate'), v.maxValue(1, 'learning_rate must be at most 1'))),
  weight_decay: or(bounded(0, 1, 'weight_decay')),
  max_grad_norm: or(v.pipe(v.number(), v.finite(), v.minValue(0, 'max_grad_norm must be at least 0'))),
  max_seq_length: or(
    v.pipe(
      whole(-1, 1_048_576, 'max_seq_length'),
      v.check(
        (value) => value === -1 || value >= 16,
        'max_seq_length must be -1 (infer from the data) or from 16 to 1048576',
      ),
    ),
  ),
  lora_r: or(whole(1, 1024, 'lora_r')),
  lora_alpha: or(above(0, 'lora_alpha')),
  lora_dropout: or(v.pipe(bounded(0, 1, 'lora_dropout'), v.ltValue(1, 'lora_dropout must be less than 1'))),
  target_modules: or(
    v.pipe(v.array(name(200)), v.minLength(1, 'must name at least one module'), v.maxLength(200)),
  ),
  warmup_ratio: or(bounded(0, 1, 'warmup_ratio')),
  eval_split: or(v.pipe(bounded(0, 1, 'eval_split'), v.ltValue(1, 'eval_split must be less than 1'))),
  eval_steps: or(whole(1, 10_000_000, 'eval_steps')),
  use_4bit: or(v.boolean()),
  use_8bit: or(v.boolean()),
  bf16: or(v.boolean()),
  fp16: or(v.boolean()),
  gradient_checkpointing: or(v.boolean()),
  packing: or(v.boolean()),
  use_chat_template: or(v.boolean()),
  lr_scheduler_type: or(name(64)),
  optim: or(name(64)),
  seed: or(whole(0, 2 ** 32 - 1, 'seed')),
  device: or(v.picklist(['auto', 'cuda', 'mps', 'cpu'])),
  save_steps: or(whole(1, 10_000_000, 'save_steps')),
  save_total_limit: or(whole(1, 10_000, 'save_total_limit')),
  early_stopping_patience: or(whole(1, 10_000, 'early_stopping_patience')),
  keep_best: or(v.boolean()),
  reward_model: or(name(1024)),
  golden_prompts: or(v.pipe(v.array(name(65_536)), v.maxLength(16))),
  export: or(
    v.union(
      [
        v.literal('none'),
        v.strictObject({
          quantizations: v.pipe(v.array(v.picklist(quantizationTypes)), v.minLength(1), v.maxLength(9)),
        }),
      ],
      `export must be "none" or {"quantizations": […]} with some of ${quantizationTypes.join(', ')}`,
    ),
  ),
});

export type TrainingRequest = v.InferOutput<typeof trainingRequest>;

/** A request as a newcomer would send it, for the API's description. */
export const trainingExample = {
  task: 'text-generation',
  model_name: 'Qwen/Qwen3-0.6B',
  dataset: 'support.jsonl',
  num_train_epochs: 3,
  learning_rate: 2e-4,
  eval_split: 0.1,
};
