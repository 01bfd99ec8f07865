import { AppError } from '../errors.ts';
import { type Profile, profileSettings } from './profile.ts';
import type { TrainingRequest } from './training-request.ts';

/** What this machine can do that settings depend on. */
export interface SettingsContext {
  readonly profile: Profile;
  /** Whether training will run on CUDA. */
  readonly cuda: boolean;
  /** Whether weights can be held in 4 or 8 bits: with bitsandbytes, on CUDA and on a processor. */
  readonly quantizes: boolean;
  /** The smallest hidden size that trains in bfloat16 on the processor; `null` where none does. */
  readonly bfloat16FromWidth: number | null;
  /** `SERVICE_DEFAULT_BATCH_SIZE`, for requests that name no batch size. */
  readonly defaultBatchSize: number | null;
  readonly lrSchedulerTypes: readonly string[];
  readonly optimizers: readonly string[];
}

/** Every setting of a run, under the names of the training request; `null` leaves a choice to the trainer. */
export type Settings = Readonly<Record<string, unknown>>;

/**
 * Recommended values: the profile's own by the specification; the rest are the field's usual ones for LoRA
 * (rank 16 with alpha 2r and rate 2e-4: QLoRA, Dettmers et al. 2023, table 9, for models up to 13B).
 */
export function recommendedSettings({
  profile,
  cuda,
  quantizes,
  defaultBatchSize,
}: SettingsContext): Settings {
  const byProfile = profileSettings[profile];
  return {
    num_train_epochs: 3,
    max_steps: -1,
    per_device_train_batch_size: defaultBatchSize ?? byProfile.per_device_train_batch_size,
    per_device_eval_batch_size: defaultBatchSize ?? byProfile.per_device_train_batch_size,
    gradient_accumulation_steps: byProfile.gradient_accumulation_steps,
    learning_rate: 2e-4,
    weight_decay: 0,
    max_grad_norm: 1,
    max_seq_length: byProfile.max_seq_length,
    lora_r: 16,
    lora_alpha: 32,
    lora_dropout: 0,
    target_modules: null,
    warmup_ratio: 0.03,
    lr_scheduler_type: 'cosine',
    optim: 'adamw_torch',
    eval_split: 0,
    eval_steps: null,
    // 4-bit saves GPU memory; on a processor it saves next to none, so a profile alone does not ask for it.
    use_4bit: byProfile.use_4bit && cuda && quantizes,
    use_8bit: false,
    bf16: cuda ? byProfile.bf16 : null,
    fp16: null,
    gradient_checkpointing: null,
    packing: false,
    use_chat_template: null,
    seed: 42,
    device: 'auto',
    save_steps: null,
    save_total_limit: 2,
    early_stopping_patience: null,
    keep_best: false,
    reward_model: null,
    golden_prompts: null,
  };
}

const notSettings = new Set([
  'task',
  'model_name',
  'dataset',
  'provider',
  'strategy',
  'compute_specs',
  'queue',
  'export',
]);

/** Whether an optimizer pages its state out of a GPU. */
export const needsCuda = (optimizer: string): boolean => optimizer.startsWith('paged_');

/** Schedules that follow the validation part's figures (transformers' SchedulerType). */
const judgingSchedules: ReadonlySet<string> = new Set(['reduce_lr_on_plateau', 'greedy']);
/** How many answers to a prompt the trainer's rlhf may compare: the first that divides a step's rows. */
const answersPerPrompt = [4, 3, 2] as const;

/**
 * The settings of a request: its own values over the recommended ones, with the rules between fields held.
 * @throws AppError `invalid` that names the field and says what to set instead.
 */
export function resolveSettings(
  request: TrainingRequest,
  provider: string,
  context: SettingsContext,
): Settings {
  const asked = Object.fromEntries(
    Object.entries(request).filter(
      ([key, value]) => !notSettings.has(key) && value !== null && value !== undefined,
    ),
  ) as Partial<TrainingRequest>;
  const refuse = (field: string, msg: string): never => {
    throw new AppError('invalid', msg, { issues: [{ loc: ['body', field], msg, type: 'value_error' }] });
  };
  if (asked.use_4bit && asked.use_8bit)
    refuse('use_8bit', 'use_4bit and use_8bit exclude each other; set one of them');
  if (asked.bf16 && asked.fp16) refuse('fp16', 'bf16 and fp16 exclude each other; set one of them');
  if (provider === 'accelerated' && asked.max_seq_length === -1) {
    refuse(
      'max_seq_length',
      'The accelerated provider needs a fixed max_seq_length; -1 (infer) is not supported. Typical values: 512, 1024, 2048, 4096, 8192',
    );
  }
  if (asked.lr_scheduler_type && !context.lrSchedulerTypes.includes(asked.lr_scheduler_type)) {
    refuse('lr_scheduler_type', `lr_scheduler_type must be one of ${context.lrSchedulerTypes.join(', ')}`);
  }
  if (asked.optim && !context.optimizers.includes(asked.optim)) {
    refuse('optim', `optim must be one of ${context.optimizers.join(', ')}`);
  }
  const judgedBy = [
    asked.keep_best ? 'keep_best' : null,
    asked.early_stopping_patience ? 'early_stopping_patience' : null,
    judgingSchedules.has(asked.lr_scheduler_type ?? '')
      ? `lr_scheduler_type ${asked.lr_scheduler_type}`
      : null,
  ].filter((name) => name !== null);
  if (judgedBy.length > 0 && !asked.eval_split) {
    refuse(
      'eval_split',
      `${judgedBy.join(' and ')} ${judgedBy.length > 1 ? 'need' : 'needs'} a validation part: set eval_split, for example to 0.1`,
    );
  }
  if (request.strategy === 'qlora' && asked.use_8bit)
    refuse(
      'use_8bit',
      'the strategy qlora trains on 4-bit weights; leave use_8bit out, or set strategy to sft',
    );
  const bits = asked.use_8bit ? 'use_8bit' : 'use_4bit';
  if (!context.quantizes && request.strategy === 'qlora')
    refuse('strategy', 'qlora needs the package bitsandbytes, which is not installed here; use sft');
  if (!context.quantizes && asked[bits])
    refuse(bits, `${bits} needs the package bitsandbytes, which is not installed here; set it to false`);
  if (asked.device === 'mps' && process.platform !== 'darwin')
    refuse('device', 'device "mps" is Apple\'s; this machine has none, so use "auto" or "cpu"');
  if (asked.device === 'mps' && asked[bits])
    refuse(bits, `${bits} does not run on Apple's GPUs; set it to false, or device to "cpu"`);
  if (asked.fp16 && !context.cuda) refuse('fp16', 'fp16 needs an NVIDIA GPU; leave it out, or set bf16');
  if (asked.optim && needsCuda(asked.optim) && !context.cuda) {
    refuse(
      'optim',
      `${asked.optim} needs an NVIDIA GPU; use adamw_torch, or ${asked.optim.slice('paged_'.length)}`,
    );
  }
  if (asked.device === 'cuda' && !context.cuda)
    refuse('device', 'device "cuda" is not available on this machine; use "auto" or "cpu"');
  const recommended = recommendedSettings(context);
  const settings: Settings = {
    ...recommended,
    ...(asked.use_8bit ? { use_4bit: false } : {}),
    ...(asked.fp16 ? { bf16: null } : {}),
    ...(asked.per_device_train_batch_size
      ? { per_device_eval_batch_size: asked.per_device_train_batch_size }
      : {}),
    ...(asked.lora_r ? { lora_alpha: 2 * asked.lora_r } : {}),
    ...asked,
  };
  const batch =
    (settings.per_device_train_batch_size as number) * (settings.gradient_accumulation_steps as number);
  if (request.strategy === 'rlhf' && !answersPerPrompt.some((count) => batch % count === 0)) {
    refuse(
      'gradient_accumulation_steps',
      `rlhf compares ${answersPerPrompt.at(-1)} to ${answersPerPrompt[0]} answers to a prompt within a step, and per_device_train_batch_size × gradient_accumulation_steps is ${batch}; make it a multiple of ${answersPerPrompt.join(', ')}`,
    );
  }
  return settings;
}
