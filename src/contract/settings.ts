import type { Profile } from './profiles.ts';
import { embeddingModules, outputModules } from './training/embeddings.ts';

/** The groups of the settings form, in display order. */
export const settingGroups = {
  basics: { title: 'Basics' },
  reward: { title: 'Reward', strategies: ['rlhf'] },
  preference: { title: 'Preferences', strategies: ['dpo', 'kto'] },
  loss: { title: 'Loss', strategies: ['dpo'] },
  graders: { title: 'Graders', strategies: ['grpo'] },
  teacher: { title: 'Teacher', strategies: ['distill'] },
  validation: { title: 'Validation and samples' },
  lora: { title: 'LoRA' },
  optimizer: { title: 'Optimizer' },
  memory: { title: 'Memory' },
  checkpoints: { title: 'Checkpoints and export' },
} as const satisfies Record<string, SettingGroup>;

export interface SettingGroup {
  readonly title: string;
  /** Shown only for these. */
  readonly strategies?: readonly string[];
}

type ByProfile<T> = Readonly<Record<Profile, T>>;

interface Row {
  readonly label: string;
  readonly help: string;
  readonly group: keyof typeof settingGroups;
  /** What an empty field means when `null` is recommended; "automatic" if absent. */
  readonly empty?: string;
  /**
   * The value for specifications written before this setting existed. Required for every new setting, because jobs of
   * earlier releases can be resumed.
   */
  readonly before?: unknown;
}
interface Recommended<Value> extends Row {
  /** The value used if a request names none; `null` leaves the choice to the trainer. */
  readonly recommended: Value | ByProfile<Value>;
  /** The same where all weights are trained (`adapter: full`), if it differs. */
  readonly recommendedForFull?: Value;
  readonly derivedFrom?: undefined;
}
interface Derived extends Row {
  readonly recommended?: undefined;
  readonly recommendedForFull?: undefined;
  /** If a request names no value: `factor` times the run's value of another setting. */
  readonly derivedFrom: { readonly setting: string; readonly factor: number };
}
type NumberRow = (Recommended<number | null> | Derived) & {
  readonly kind: 'integer' | 'number';
  readonly min: number;
  /** Whether the bound itself is excluded. */
  readonly above?: true;
  readonly max?: number;
  readonly below?: true;
  /** A value outside the range with a special meaning. */
  readonly special?: { readonly value: -1; readonly meaning: string };
};
/** On or off; if `null` is recommended, the trainer decides. */
interface SwitchRow extends Recommended<boolean | null> {
  readonly kind: 'switch';
  /** What a machine needs for the recommendation; without it, the switch is off or left to the trainer. */
  readonly needs?: readonly Capability[];
  /** Another switch; if a request turns it on, this one is off or left to the trainer. */
  readonly excludedBy?: string;
  /** Other settings; if a request has one of them, this one is off unless it asks for it. */
  readonly offWith?: readonly string[];
}
/** CUDA, and weights quantized to 4 or 8 bits. */
export type Capability = 'cuda' | 'quantizes';
interface TextRow extends Recommended<string | null> {
  /** A `choice` without `choices` takes its values from the installed training library. */
  readonly kind: 'choice' | 'text';
  readonly choices?: readonly string[];
  readonly maxLength?: number;
}
/** A list of strings, separated by commas, or of prompts, a line each. */
interface ListRow extends Recommended<null> {
  readonly kind: 'names' | 'prompts';
  readonly minItems: number;
  readonly maxItems: number;
  readonly maxLength: number;
  /** The only texts that it may have. */
  readonly items?: readonly string[];
  /** Whether its texts are parts of what the model reads, of which each is a new one. */
  readonly areTokens?: true;
}
interface GradersRow extends Recommended<null> {
  readonly kind: 'graders';
  readonly maxItems: number;
}
/** What answers are held to. */
interface FormatRow extends Recommended<null> {
  readonly kind: 'format';
}
export type Setting = NumberRow | SwitchRow | TextRow | ListRow | GradersRow | FormatRow;

/** JSON of a schema, as OpenAI's `response_format` has it. */
export interface AnswerFormat {
  readonly type: 'json_schema';
  readonly json_schema: {
    readonly name: string;
    readonly description?: string | null | undefined;
    readonly strict?: boolean | null | undefined;
    readonly schema: Readonly<Record<string, unknown>>;
  };
}

/**
 * A grader of a run: the name of a stored one, or this or a definition with what its scores count, 1 unless given. A job has
 * definitions alone.
 */
export type WeightedGrader =
  | string
  | {
      readonly name?: string | undefined;
      readonly grader?: Readonly<Record<string, unknown>> | undefined;
      readonly weight?: number | undefined;
    };

/**
 * A prompt whose answers are shown; with a test, also what they have to be: equal to `reference`, or worth at least `threshold`
 * to a grader, a stored one's name or a definition. A job has definitions alone, with the whole `item` that they score by.
 */
export type GoldenPrompt =
  | string
  | {
      readonly prompt: string;
      readonly reference?: string | undefined;
      readonly grader?: string | Readonly<Record<string, unknown>> | undefined;
      readonly threshold?: number | undefined;
      readonly item?: Readonly<Record<string, unknown>> | undefined;
    };
/** The score that passes unless a prompt says otherwise. */
export const usualThreshold = 0.5;

/**
 * Every training setting: the field name in the request and the specification, its bounds, recommended value, and label
 * and help text. Recommended values by profile are prescribed by the specification; the others are the usual ones for
 * LoRA (rank 16, alpha 2r, rate 2e-4: QLoRA, Dettmers et al. 2023, table 9).
 */
export const settings = {
  num_train_epochs: {
    label: 'Epochs',
    kind: 'number',
    min: 0,
    above: true,
    max: 1000,
    recommended: 3,
    group: 'basics',
    help: 'How often the model sees each row. Few rows need more epochs than many; fractions are allowed.',
  },
  learning_rate: {
    label: 'Learning rate',
    kind: 'number',
    min: 0,
    above: true,
    max: 1,
    recommended: 2e-4,
    recommendedForFull: 2e-5,
    group: 'basics',
    help: 'The size of each update. Halve it if the loss is unstable; double it if the loss barely falls.',
  },
  per_device_train_batch_size: {
    label: 'Batch size',
    kind: 'integer',
    min: 1,
    max: 1024,
    recommended: { low_end: 1, mid_range: 2, high_end: 4 },
    group: 'basics',
    help: 'Rows processed at once. Lower this first if you run out of memory.',
  },
  gradient_accumulation_steps: {
    label: 'Gradient accumulation steps',
    kind: 'integer',
    min: 1,
    max: 4096,
    recommended: { low_end: 8, mid_range: 4, high_end: 2 },
    group: 'basics',
    help: 'Batches summed into one update: a larger effective batch without more memory.',
  },
  max_seq_length: {
    label: 'Max sequence length',
    kind: 'integer',
    min: 16,
    max: 1_048_576,
    special: { value: -1, meaning: 'infer from the data' },
    recommended: { low_end: 512, mid_range: 1024, high_end: 2048 },
    group: 'basics',
    help: 'Longer rows are truncated; preference pairs that are longer are skipped. −1 fits 99.9% of the rows, up to the model’s context length.',
  },
  lora_r: {
    label: 'LoRA rank',
    kind: 'integer',
    min: 1,
    max: 1024,
    recommended: 16,
    group: 'lora',
    help: 'The capacity of the adapter. 8 to 32 is enough for a style or a format; new knowledge needs more.',
  },
  eval_split: {
    label: 'Validation share',
    kind: 'number',
    min: 0,
    max: 1,
    below: true,
    recommended: 0,
    group: 'validation',
    help: 'The share of rows that is held out to measure the model on. 0.1 holds out one in ten.',
  },
  reward_model: {
    label: 'Reward model',
    kind: 'text',
    maxLength: 1024,
    recommended: null,
    empty: 'trained from your pairs',
    group: 'reward',
    help: 'Hub id or folder of a model that scores answers, if you have one.',
  },
  // 0.1 is the usual value of TRL and the paper (Rafailov et al. 2023).
  beta: {
    label: 'Beta',
    kind: 'number',
    min: 0,
    above: true,
    max: 100,
    recommended: 0.1,
    before: 0.1,
    group: 'preference',
    help: 'How strongly DPO and KTO keep the model close to its base. A larger value changes it less.',
  },
  loss_type: {
    label: 'Loss',
    kind: 'choice',
    choices: ['sigmoid', 'ipo', 'robust'],
    recommended: 'sigmoid',
    before: 'sigmoid',
    group: 'loss',
    help: 'sigmoid is DPO’s own. ipo overfits less where preferences are clear. robust expects some pairs to be swapped.',
  },
  label_smoothing: {
    label: 'Label smoothing',
    kind: 'number',
    min: 0,
    max: 0.5,
    below: true,
    recommended: 0,
    before: 0,
    group: 'loss',
    help: 'For the robust loss: the share of pairs whose chosen and rejected answers are likely swapped.',
  },
  sft_weight: {
    label: 'SFT weight',
    kind: 'number',
    min: 0,
    max: 100,
    recommended: 0,
    before: 0,
    group: 'loss',
    help: 'How much the loss of the chosen answers themselves counts beside that of the pairs, which keeps them likely.',
  },
  graders: {
    label: 'Graders',
    kind: 'graders',
    maxItems: 16,
    recommended: null,
    before: null,
    group: 'validation',
    empty: 'none',
    help: 'Graders score answers. With grpo, the reward is the sum of their scores, each times its weight (1 unless given); rlhf adds it to that of its reward model. Otherwise they score the answers to validation rows, and the first one chooses the best checkpoint.',
  },
  group_size: {
    label: 'Answers per prompt',
    kind: 'integer',
    min: 2,
    max: 64,
    recommended: null,
    before: null,
    group: 'graders',
    empty: 'up to 8',
    help: 'How many answers to a prompt are compared. The rows of a step (batch size × accumulation) are a multiple of it.',
  },
  kl_beta: {
    label: 'KL weight',
    kind: 'number',
    min: 0,
    max: 100,
    recommended: 0.04,
    before: 0.04,
    group: 'graders',
    help: 'How strongly the model is kept close to its base. 0 lets it go, and saves a pass of the base model.',
  },
  max_answer_tokens: {
    label: 'Longest answer',
    kind: 'integer',
    min: 1,
    max: 32_768,
    recommended: 256,
    before: 256,
    group: 'graders',
    help: 'The most tokens of an answer, at most half of the sequence length. Writing answers takes most of a step.',
  },
  response_format: {
    label: 'Answer format',
    kind: 'format',
    recommended: null,
    before: null,
    group: 'graders',
    empty: 'any text',
    help: 'A JSON schema that all answers of the training fit, as in OpenAI’s response_format: {"type": "json_schema", "json_schema": {"name": "…", "schema": {…}}}. Ask the trained model with the same one.',
  },
  teacher: {
    label: 'Teacher',
    kind: 'text',
    maxLength: 1024,
    recommended: null,
    before: null,
    empty: 'none',
    group: 'teacher',
    help: 'The model that teaches: one that was trained here (name, model_id or checkpoint), a hub ID or a folder. It must have the same tokens as the model that learns.',
  },
  teacher_top_k: {
    label: 'Tokens kept',
    kind: 'integer',
    min: 1,
    max: 1_048_576,
    recommended: 64,
    before: 64,
    group: 'teacher',
    help: 'Of each predicted token, how many of the teacher’s likeliest are stored with their probabilities; the rest counts as one. Each takes 8 bytes of disk.',
  },
  distill_beta: {
    label: 'Divergence',
    kind: 'number',
    min: 0,
    max: 1,
    recommended: 0,
    before: 0,
    group: 'teacher',
    help: '0 is the forward KL divergence, which covers all that the teacher finds likely; 1 the reverse one, which keeps to what it finds likeliest; between, a mean of both (Jensen–Shannon).',
  },
  distill_temperature: {
    label: 'Temperature',
    kind: 'number',
    min: 0,
    above: true,
    max: 100,
    recommended: 1,
    before: 1,
    group: 'teacher',
    help: 'Divides the logits of both models before they are compared. Above 1, unlikely tokens count more.',
  },
  label_share: {
    label: 'Share of the rows’ answers',
    kind: 'number',
    min: 0,
    max: 1,
    below: true,
    recommended: 0,
    before: 0,
    group: 'teacher',
    help: 'How much of the loss is that of the answers in the rows (as with sft); the rest is the divergence from the teacher.',
  },
  max_steps: {
    label: 'Max steps',
    kind: 'integer',
    min: 1,
    max: 10_000_000,
    special: { value: -1, meaning: 'no limit' },
    recommended: -1,
    group: 'basics',
    help: 'Stops after this many steps, regardless of epochs. −1 sets no limit.',
  },
  eval_steps: {
    label: 'Evaluation interval',
    kind: 'integer',
    min: 1,
    max: 10_000_000,
    recommended: null,
    empty: 'every epoch',
    group: 'validation',
    help: 'Steps between evaluations on the validation rows.',
  },
  per_device_eval_batch_size: {
    label: 'Evaluation batch size',
    kind: 'integer',
    min: 1,
    max: 1024,
    derivedFrom: { setting: 'per_device_train_batch_size', factor: 1 },
    group: 'validation',
    help: 'Rows processed at once during evaluation.',
  },
  early_stopping_patience: {
    label: 'Early stopping patience',
    kind: 'integer',
    min: 1,
    max: 10_000,
    recommended: null,
    empty: 'never',
    group: 'validation',
    help: 'Stops after this many evaluations without improvement. Needs validation rows.',
  },
  keep_best: {
    label: 'Keep best checkpoint',
    kind: 'switch',
    recommended: false,
    group: 'validation',
    help: 'Exports the checkpoint with the best evaluation instead of the last one. Needs validation rows.',
  },
  golden_prompts: {
    label: 'Sample prompts',
    kind: 'prompts',
    minItems: 0,
    maxItems: 16,
    maxLength: 65_536,
    recommended: null,
    empty: 'three rows of the dataset',
    group: 'validation',
    help: 'One per line. The model answers them before, during and after training. A line may be JSON with a test of the answer: {"prompt": "…", "reference": "…", "grader": "NAME", "threshold": 0.8}.',
  },
  optim: {
    label: 'Optimizer',
    kind: 'choice',
    maxLength: 64,
    recommended: 'adamw_torch',
    group: 'optimizer',
    help: 'The algorithm that updates the weights. 8-bit optimizers use less memory.',
  },
  lr_scheduler_type: {
    label: 'LR scheduler',
    kind: 'choice',
    maxLength: 64,
    recommended: 'cosine',
    group: 'optimizer',
    help: 'How the learning rate changes during training.',
  },
  warmup_ratio: {
    label: 'Warmup ratio',
    kind: 'number',
    min: 0,
    max: 1,
    recommended: 0.03,
    group: 'optimizer',
    help: 'The fraction of steps over which the learning rate rises from zero.',
  },
  weight_decay: {
    label: 'Weight decay',
    kind: 'number',
    min: 0,
    max: 1,
    recommended: 0,
    group: 'optimizer',
    help: 'Pulls weights towards zero. A small value reduces overfitting.',
  },
  max_grad_norm: {
    label: 'Max gradient norm',
    kind: 'number',
    min: 0,
    recommended: 1,
    group: 'optimizer',
    help: 'Larger gradients are clipped to this norm, so that one bad batch can’t derail the run. 0 turns clipping off.',
  },
  seed: {
    label: 'Seed',
    kind: 'integer',
    min: 0,
    max: 2 ** 32 - 1,
    recommended: 42,
    group: 'optimizer',
    help: 'The same seed, data and settings reproduce the same run.',
  },
  adapter: {
    label: 'Adapter',
    kind: 'choice',
    choices: ['lora', 'rslora', 'dora', 'full'],
    recommended: 'lora',
    before: 'lora',
    group: 'lora',
    help: 'rslora scales by the root of the rank, for ranks of 64 and more. dora also trains the norms of the weights, which takes longer. full trains all weights instead, which takes about 16 bytes of memory for each.',
  },
  lora_alpha: {
    label: 'LoRA alpha',
    kind: 'number',
    min: 0,
    above: true,
    derivedFrom: { setting: 'lora_r', factor: 2 },
    group: 'lora',
    help: 'The scaling of the adapter.',
  },
  lora_dropout: {
    label: 'LoRA dropout',
    kind: 'number',
    min: 0,
    max: 1,
    below: true,
    recommended: 0,
    group: 'lora',
    help: 'The fraction of adapter inputs dropped at random in each step. Helps with small datasets.',
  },
  target_modules: {
    label: 'Target modules',
    kind: 'names',
    minItems: 1,
    maxItems: 200,
    maxLength: 200,
    recommended: null,
    empty: 'all linear layers',
    group: 'lora',
    help: 'Names of the layers that get an adapter, separated by commas.',
  },
  target_experts: {
    label: 'Adapt the experts',
    kind: 'switch',
    recommended: false,
    before: false,
    group: 'lora',
    help: 'Mixtures of experts only: the experts get an adapter, too. Takes many times the memory and the time.',
  },
  modules_to_save: {
    label: 'Layers to train fully',
    kind: 'names',
    items: [...embeddingModules, ...outputModules],
    minItems: 1,
    maxItems: 2,
    maxLength: 64,
    recommended: null,
    before: null,
    empty: 'none',
    group: 'lora',
    help: 'The embedding (embed_tokens) and the output layer (lm_head), trained fully beside the adapter, as PEFT’s modules_to_save. Where a model has one matrix for both, naming either trains it. Takes about 16 bytes of memory for each weight.',
  },
  new_tokens: {
    label: 'New tokens',
    kind: 'names',
    areTokens: true,
    minItems: 1,
    maxItems: 512,
    maxLength: 64,
    recommended: null,
    before: null,
    empty: 'none',
    group: 'lora',
    help: 'Texts that become one token each, separated by commas. A new token begins as the mean of the tokens that its text is split into now, and is trained.',
  },
  use_4bit: {
    label: 'Load in 4-bit',
    kind: 'switch',
    recommended: { low_end: true, mid_range: true, high_end: false },
    recommendedForFull: false,
    // On a CPU it saves almost no memory.
    needs: ['cuda', 'quantizes'],
    excludedBy: 'use_8bit',
    offWith: ['modules_to_save', 'new_tokens'],
    group: 'memory',
    help: 'Loads the base model in 4-bit: about a quarter of the memory, slightly slower.',
  },
  use_8bit: {
    label: 'Load in 8-bit',
    kind: 'switch',
    recommended: false,
    group: 'memory',
    help: 'Loads the base model in 8-bit: about half the memory. Cannot be combined with 4-bit.',
  },
  bf16: {
    label: 'bf16',
    kind: 'switch',
    recommended: { low_end: null, mid_range: null, high_end: true },
    needs: ['cuda'],
    excludedBy: 'fp16',
    group: 'memory',
    help: 'Trains in bfloat16, the right precision for recent GPUs.',
  },
  fp16: {
    label: 'fp16',
    kind: 'switch',
    recommended: null,
    group: 'memory',
    help: 'Trains in float16, for older GPUs. Cannot be combined with bf16.',
  },
  gradient_checkpointing: {
    label: 'Gradient checkpointing',
    kind: 'switch',
    recommended: null,
    group: 'memory',
    help: 'Recomputes activations in the backward pass: less memory, about 25% slower.',
  },
  packing: {
    label: 'Packing',
    kind: 'switch',
    recommended: false,
    group: 'memory',
    help: 'Packs several short rows into one sequence, so that no compute is spent on padding.',
  },
  device: {
    label: 'Device',
    kind: 'choice',
    choices: ['auto', 'cuda', 'mps', 'cpu'],
    recommended: 'auto',
    group: 'memory',
    help: 'Where to train. auto uses a GPU if there is one.',
  },
  workers: {
    label: 'Workers',
    kind: 'integer',
    min: 1,
    max: 64,
    recommended: 1,
    before: 1,
    group: 'memory',
    help: 'Processes that train together, each on a GPU of its own or a share of the cores. They share the rows of each step, which stays as large.',
  },
  use_chat_template: {
    label: 'Chat template',
    kind: 'switch',
    recommended: null,
    group: 'basics',
    help: 'Formats rows with the model’s chat template. The playground and the Modelfile use it, too.',
  },
  thinking: {
    label: 'Thinking',
    kind: 'choice',
    choices: ['keep', 'off', 'learn'],
    recommended: null,
    before: 'off',
    group: 'basics',
    empty: 'by the rows',
    help: 'learn trains the reasoning of rows, off turns the model’s thinking off, keep leaves it as its template has it. By the rows: learn if any has reasoning, else keep.',
  },
  tool_syntax: {
    label: 'Tool syntax',
    kind: 'choice',
    choices: ['template', 'hermes'],
    recommended: 'template',
    before: 'template',
    group: 'basics',
    help: 'How tools and calls are written, if rows have them. template is the syntax of the model’s chat template; hermes adds that of Hermes to it, for models whose template has none.',
  },
  save_steps: {
    label: 'Checkpoint interval',
    kind: 'integer',
    min: 1,
    max: 10_000_000,
    recommended: null,
    group: 'checkpoints',
    help: 'Steps between checkpoints. A run can be resumed from a checkpoint.',
  },
  save_total_limit: {
    label: 'Checkpoints to keep',
    kind: 'integer',
    min: 1,
    max: 10_000,
    recommended: 2,
    group: 'checkpoints',
    help: 'How many of the latest checkpoints stay on disk.',
  },
} as const satisfies Record<string, Setting>;

type Table = typeof settings;
export type SettingName = keyof Table;
export const settingNames = Object.keys(settings) as SettingName[];

type ValueOf<F> = F extends { readonly kind: 'switch' }
  ? boolean
  : F extends { readonly kind: 'integer' | 'number' }
    ? number
    : F extends { readonly choices: readonly (infer Choice)[] }
      ? Choice
      : F extends { readonly kind: 'names' }
        ? string[]
        : F extends { readonly kind: 'prompts' }
          ? GoldenPrompt[]
          : F extends { readonly kind: 'graders' }
            ? WeightedGrader[]
            : F extends { readonly kind: 'format' }
              ? AnswerFormat
              : string;
/** The values of the settings that are present. */
export type SettingValues = { -readonly [N in SettingName]: ValueOf<Table[N]> };

type RecommendedOf<R> = R extends { readonly recommended: infer Value }
  ? Value extends ByProfile<unknown>
    ? Value[Profile]
    : Value
  : never;
/** All settings of a run; `null` leaves a choice to the trainer. */
export type Settings = {
  readonly [N in SettingName]: SettingValues[N] | (null extends RecommendedOf<Table[N]> ? null : never);
};

/** What is recommended instead beside other settings that are asked for. */
export const recommendedFor = (asked: Readonly<Record<string, unknown>>): Partial<SettingValues> =>
  Object.fromEntries(
    Object.entries<Setting>(settings).flatMap(([name, row]): [string, unknown][] => {
      if (asked.adapter === 'full' && row.recommendedForFull !== undefined)
        return [[name, row.recommendedForFull]];
      return row.kind === 'switch' && row.offWith?.some((other) => asked[other]) ? [[name, false]] : [];
    }),
  );

/** Whether `null` is recommended on some machine. */
export const mayBeNull = ({ recommended }: Setting): boolean =>
  recommended === null ||
  (typeof recommended === 'object' && Object.values(recommended).some((value) => value === null));

/** What a value is derived from, in words; `nameOf` names the other setting. */
export const derivedText = (
  { setting, factor }: NonNullable<Setting['derivedFrom']>,
  nameOf: (name: SettingName) => string,
): string => `${factor === 1 ? '' : `${factor} × `}${nameOf(setting as SettingName)}`;
