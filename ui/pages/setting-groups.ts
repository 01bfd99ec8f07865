import type { TrainingBody } from '../api/service.ts';

/** Every setting of a training request that the form offers: its name on the wire, its range, its sentence. */

type Settings = Required<
  Omit<TrainingBody, 'task' | 'model_name' | 'dataset' | 'provider' | 'strategy' | 'export' | 'queue'>
>;
/** How a field of this type can be filled in. `switch` may be left to the service: automatic, on or off. */
type KindOf<T> = T extends boolean
  ? 'switch'
  : T extends number
    ? 'number' | 'integer'
    : T extends string
      ? 'choice' | 'text'
      : 'names' | 'lines';

/** A field under the name, and of the kind, that the request has it. */
export type SettingField = {
  [N in keyof Settings]: {
    readonly name: N;
    readonly label: string;
    readonly kind: KindOf<NonNullable<Settings[N]>>;
    readonly sentence: string;
    readonly min?: number;
    readonly max?: number;
    /** The bound itself is not allowed. */
    readonly above?: boolean;
    readonly below?: boolean;
    /** A value outside the range that means something of its own. */
    readonly special?: number;
    readonly choices?: readonly Extract<Settings[N], string>[];
    /** What an empty field means, where the recommendation is to leave it empty. */
    readonly automatic?: string;
  };
}[keyof Settings];

export interface SettingGroup {
  readonly title: string;
  /** Shown at once; the others are folded. */
  readonly open?: boolean;
  /** Shown for this strategy alone. */
  readonly strategy?: string;
  readonly fields: readonly SettingField[];
}

export const settingGroups: readonly SettingGroup[] = [
  {
    title: 'Essentials',
    open: true,
    fields: [
      {
        name: 'num_train_epochs',
        label: 'Epochs',
        kind: 'number',
        min: 0,
        above: true,
        max: 1000,
        sentence: 'How many times each row is seen. Two to five suit most datasets; fractions are allowed.',
      },
      {
        name: 'learning_rate',
        label: 'Learning rate',
        kind: 'number',
        min: 0,
        above: true,
        max: 1,
        sentence: 'How far each step goes. Halve it if the loss jumps about, double it if it hardly falls.',
      },
      {
        name: 'per_device_train_batch_size',
        label: 'Batch size',
        kind: 'integer',
        min: 1,
        max: 1024,
        sentence: 'Rows in memory at once. The first thing to lower when memory is short.',
      },
      {
        name: 'gradient_accumulation_steps',
        label: 'Accumulation',
        kind: 'integer',
        min: 1,
        max: 4096,
        sentence:
          'Batches that are summed into one step: a larger batch for more time instead of more memory.',
      },
      {
        name: 'max_seq_length',
        label: 'Sequence length',
        kind: 'integer',
        min: 16,
        max: 1_048_576,
        special: -1,
        sentence: 'Tokens of a row that are kept; the rest is cut off. −1 takes the longest row’s length.',
      },
      {
        name: 'lora_r',
        label: 'LoRA rank',
        kind: 'integer',
        min: 1,
        max: 1024,
        sentence: 'How much the adapter can learn. 8 to 32 for a style or a format, more for new knowledge.',
      },
      {
        name: 'eval_split',
        label: 'Held out',
        kind: 'number',
        min: 0,
        max: 1,
        below: true,
        sentence:
          'The part of the rows that is kept from training and used to measure it; 0.1 is one in ten.',
      },
    ],
  },
  {
    title: 'Reward',
    strategy: 'rlhf',
    fields: [
      {
        name: 'reward_model',
        label: 'Reward model',
        kind: 'text',
        automatic: 'trained from your pairs',
        sentence: 'Hub id or folder of a model that scores answers, where you have one.',
      },
    ],
  },
  {
    title: 'Length and evaluation',
    fields: [
      {
        name: 'max_steps',
        label: 'Step limit',
        kind: 'integer',
        min: 1,
        max: 10_000_000,
        special: -1,
        sentence: 'Ends after so many steps, whatever the epochs say. −1 sets no limit.',
      },
      {
        name: 'eval_steps',
        label: 'Evaluate every',
        kind: 'integer',
        min: 1,
        max: 10_000_000,
        automatic: 'every epoch',
        sentence: 'Steps between two evaluations on the held-out rows.',
      },
      {
        name: 'per_device_eval_batch_size',
        label: 'Evaluation batch',
        kind: 'integer',
        min: 1,
        max: 1024,
        sentence: 'Rows in memory at once while evaluating.',
      },
      {
        name: 'early_stopping_patience',
        label: 'Early stopping',
        kind: 'integer',
        min: 1,
        max: 10_000,
        automatic: 'never',
        sentence: 'Ends after so many evaluations without a better one. Needs held-out rows.',
      },
      {
        name: 'keep_best',
        label: 'Keep the best',
        kind: 'switch',
        sentence: 'Exports the checkpoint that evaluated best instead of the last one. Needs held-out rows.',
      },
      {
        name: 'golden_prompts',
        label: 'Sample prompts',
        kind: 'lines',
        automatic: 'none',
        sentence: 'Up to 16, one on each line: the model answers them while it learns.',
      },
    ],
  },
  {
    title: 'Optimizer',
    fields: [
      {
        name: 'optim',
        label: 'Optimizer',
        kind: 'choice',
        sentence: 'The rule by which weights change. The 8-bit ones take less memory.',
      },
      {
        name: 'lr_scheduler_type',
        label: 'Schedule',
        kind: 'choice',
        sentence: 'How the learning rate changes over the run.',
      },
      {
        name: 'warmup_ratio',
        label: 'Warm-up',
        kind: 'number',
        min: 0,
        max: 1,
        sentence: 'The first part of the run, over which the learning rate rises from nothing.',
      },
      {
        name: 'weight_decay',
        label: 'Weight decay',
        kind: 'number',
        min: 0,
        max: 1,
        sentence: 'Pulls weights towards zero; a little of it works against learning by heart.',
      },
      {
        name: 'max_grad_norm',
        label: 'Gradient limit',
        kind: 'number',
        min: 0,
        sentence:
          'Longer gradients are scaled down to this, so that one odd row cannot spoil the run. 0 sets no limit.',
      },
      {
        name: 'seed',
        label: 'Seed',
        kind: 'integer',
        min: 0,
        max: 4_294_967_295,
        sentence: 'The same seed, data and settings give the same run.',
      },
    ],
  },
  {
    title: 'Adapter',
    fields: [
      {
        name: 'lora_alpha',
        label: 'LoRA alpha',
        kind: 'number',
        min: 0,
        above: true,
        sentence: 'How strongly the adapter acts; usually twice the rank.',
      },
      {
        name: 'lora_dropout',
        label: 'LoRA dropout',
        kind: 'number',
        min: 0,
        max: 1,
        below: true,
        sentence: 'The part of the adapter that is left out at random in each step; helps with few rows.',
      },
      {
        name: 'target_modules',
        label: 'Target modules',
        kind: 'names',
        automatic: 'all linear layers',
        sentence: 'Names of the layers that get an adapter, separated by commas.',
      },
    ],
  },
  {
    title: 'Memory and precision',
    fields: [
      {
        name: 'use_4bit',
        label: '4-bit base',
        kind: 'switch',
        sentence: 'Loads the base model in 4 bits: about a quarter of the memory, a little slower.',
      },
      {
        name: 'use_8bit',
        label: '8-bit base',
        kind: 'switch',
        sentence: 'Loads the base model in 8 bits: about half of the memory. Excludes 4-bit.',
      },
      {
        name: 'bf16',
        label: 'bfloat16',
        kind: 'switch',
        sentence: 'Computes in 16 bits with a wide range; right for recent GPUs.',
      },
      {
        name: 'fp16',
        label: 'float16',
        kind: 'switch',
        sentence: 'Computes in 16 bits on older GPUs. Excludes bfloat16.',
      },
      {
        name: 'gradient_checkpointing',
        label: 'Checkpoint gradients',
        kind: 'switch',
        sentence: 'Computes parts of each step twice to save memory; about a quarter slower.',
      },
      {
        name: 'packing',
        label: 'Packing',
        kind: 'switch',
        sentence: 'Puts several short rows into one sequence, so that no work goes into padding.',
      },
      {
        name: 'device',
        label: 'Device',
        kind: 'choice',
        choices: ['auto', 'cuda', 'mps', 'cpu'],
        sentence: 'Where to compute; auto takes the GPU where there is one.',
      },
    ],
  },
  {
    title: 'Text and checkpoints',
    fields: [
      {
        name: 'use_chat_template',
        label: 'Chat template',
        kind: 'switch',
        sentence: 'Wraps rows in the model’s own chat format. The playground and the Modelfile use the same.',
      },
      {
        name: 'save_steps',
        label: 'Save every',
        kind: 'integer',
        min: 1,
        max: 10_000_000,
        automatic: 'by itself',
        sentence: 'Steps between two checkpoints, from which a run can be resumed.',
      },
      {
        name: 'save_total_limit',
        label: 'Keep checkpoints',
        kind: 'integer',
        min: 1,
        max: 10_000,
        sentence: 'How many of the newest checkpoints stay on the disk.',
      },
    ],
  },
];
