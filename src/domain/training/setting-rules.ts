import {
  type Setting,
  type Settings,
  type SettingValues,
  settings as table,
} from '../../contract/settings.ts';
import { type AdapterRequest, adapterLimits } from '../../contract/training/adapters.ts';
import { comparesAnswers, mostAnswers, promptsPerStep, shareOfStep } from '../../contract/training/steps.ts';
import type { Faults } from '../../faults.ts';
import { defaultStrategy } from '../machine/trainer-registry.ts';
import { askedOf, recommendedSettings, runsOnCuda, type SettingsContext, settingsOf } from './settings.ts';
import type { ReadRequest, TrainingRequest } from './training-request.ts';

/** What the rules are checked against. */
interface Judged {
  readonly asked: Partial<SettingValues>;
  /** The request's settings merged with the recommended ones. */
  readonly settings: Settings;
  readonly validationDataset: string | null | undefined;
  readonly strategy: string | null | undefined;
  readonly provider: string | null;
  readonly context: SettingsContext;
}

/** A rule between settings, or between settings and this machine. */
interface Rule {
  /** The fields that the rule involves; the error is reported for the first. */
  readonly fields: readonly [keyof TrainingRequest, ...(keyof TrainingRequest)[]];
  readonly broken: (judged: Judged) => unknown;
  readonly message: string | ((judged: Judged) => string);
}

/** Whether an optimizer pages its state between GPU and host memory. */
export const needsCuda = (optimizer: string): boolean => optimizer.startsWith('paged_');

/** Schedules that follow the validation metrics (transformers' SchedulerType). */
const validatedSchedules = ['reduce_lr_on_plateau', 'greedy'];

/** Requested features that need validation rows. */
const validated = ({ asked, strategy }: Judged): string[] => [
  ...(asked.graders && !comparesAnswers(strategy) ? ['graders'] : []),
  ...(asked.keep_best ? ['keep_best'] : []),
  ...(asked.early_stopping_patience ? ['early_stopping_patience'] : []),
  ...(validatedSchedules.includes(asked.lr_scheduler_type ?? '')
    ? [`lr_scheduler_type ${asked.lr_scheduler_type}`]
    : []),
];

const rowsPerStep = ({ settings }: Judged): number =>
  settings.per_device_train_batch_size * settings.gradient_accumulation_steps;

const whyOneWorker = ({ strategy, provider, context }: Judged): string | undefined =>
  context.oneWorker.find(
    (entry) => entry.strategy === (strategy ?? defaultStrategy) && entry.provider === provider,
  )?.why;

/** What each worker needs one of. */
const devices = ({ settings, context }: Judged): { count: number; unit: 'GPU' | 'core' } =>
  runsOnCuda(settings, context)
    ? { count: context.gpus, unit: 'GPU' }
    : { count: context.cores, unit: 'core' };

/** Settings that act in one strategy only. */
const ofStrategies = (only: readonly string[], ...names: (keyof Settings)[]): Rule[] =>
  names.map((name) => ({
    fields: [name, 'strategy'],
    // Clients may send back all recommended settings.
    broken: ({ settings, strategy }) =>
      settings[name] !== (table[name] as Setting).recommended && !only.includes(strategy ?? defaultStrategy),
    message: `${name} is a setting of the strategy ${only.join(' or ')}; leave it out, or set strategy to ${only.join(' or ')}`,
  }));

/** What a kind of adapter is judged by. */
function ofAdapter({ asked, settings, strategy, provider, context }: Judged): AdapterRequest {
  const { use_4bit, use_8bit } = settings;
  const usual: Readonly<Record<string, unknown>> = recommendedSettings(context);
  const own = Object.entries(asked).filter(([name, value]) => value !== usual[name]);
  return {
    ...Object.fromEntries(own),
    use_4bit,
    use_8bit,
    strategy: strategy ?? defaultStrategy,
    provider,
  };
}

/** Whether weights of the model itself are trained. */
const trainsWeights = ({ adapter, modules_to_save }: Settings): boolean =>
  adapter === 'full' || modules_to_save !== null;

const isApple = process.platform === 'darwin';

const rules: readonly Rule[] = [
  {
    fields: ['use_8bit', 'use_4bit'],
    broken: ({ asked }) => asked.use_4bit && asked.use_8bit,
    message: 'use_4bit and use_8bit exclude each other; set one of them',
  },
  {
    fields: ['fp16', 'bf16'],
    broken: ({ asked }) => asked.bf16 && asked.fp16,
    message: 'bf16 and fp16 exclude each other; set one of them',
  },
  {
    fields: ['max_seq_length'],
    broken: ({ asked, provider }) => provider === 'accelerated' && asked.max_seq_length === -1,
    message:
      'The accelerated provider needs a fixed max_seq_length; -1 (infer) is not supported. Typical values: 512, 1024, 2048, 4096, 8192',
  },
  {
    fields: ['lr_scheduler_type'],
    broken: ({ asked, context }) =>
      asked.lr_scheduler_type && !context.lrSchedulerTypes.includes(asked.lr_scheduler_type),
    message: ({ context }) => `lr_scheduler_type must be one of ${context.lrSchedulerTypes.join(', ')}`,
  },
  {
    fields: ['optim'],
    broken: ({ asked, context }) => asked.optim && !context.optimizers.includes(asked.optim),
    message: ({ context }) => `optim must be one of ${context.optimizers.join(', ')}`,
  },
  {
    fields: ['optim', 'device'],
    broken: ({ asked: { optim }, settings, context }) =>
      optim && context.optimizers.includes(optim) && needsCuda(optim) && !runsOnCuda(settings, context),
    message: ({ asked: { optim = '' }, context }) => {
      const unpaged = optim.slice('paged_'.length);
      const others = ['adamw_torch', ...(context.optimizers.includes(unpaged) ? [unpaged] : [])];
      return `${optim} needs an NVIDIA GPU; use ${others.join(', or ')}`;
    },
  },
  {
    fields: ['eval_split', 'validation_dataset'],
    broken: (judged) =>
      validated(judged).length > 0 && !judged.asked.eval_split && judged.validationDataset == null,
    message: (judged) =>
      `${validated(judged).join(' and ')} ${validated(judged).length > 1 || judged.asked.graders ? 'need' : 'needs'} validation rows: set eval_split, for example to 0.1, or validation_dataset`,
  },
  {
    fields: ['eval_split', 'validation_dataset'],
    broken: ({ asked, validationDataset }) => asked.eval_split && validationDataset != null,
    message:
      'eval_split and validation_dataset exclude each other; set eval_split to 0 to validate on the validation_dataset, or leave that out',
  },
  ...ofStrategies(['dpo', 'kto'], 'beta'),
  ...ofStrategies(['dpo'], 'loss_type', 'label_smoothing', 'sft_weight'),
  ...ofStrategies(
    ['distill'],
    'teacher',
    'teacher_top_k',
    'distill_beta',
    'distill_temperature',
    'label_share',
  ),
  ...ofStrategies(['grpo'], 'group_size', 'kl_beta', 'max_answer_tokens', 'response_format'),
  {
    fields: ['gradient_accumulation_steps', 'per_device_train_batch_size', 'strategy'],
    broken: (judged) => judged.strategy === 'kto' && rowsPerStep(judged) === 1,
    message:
      'kto compares the rows of a step, which has one; set gradient_accumulation_steps or per_device_train_batch_size to at least 2, better 8',
  },
  {
    fields: ['label_smoothing', 'loss_type'],
    broken: ({ settings }) => settings.label_smoothing > 0 && settings.loss_type !== 'robust',
    message: 'label_smoothing acts in the robust loss only; leave it out, or set loss_type to robust',
  },
  ...adapterLimits.map(
    ({ adapter, field, broken, message }): Rule => ({
      fields: ['adapter', field],
      broken: (judged) => judged.settings.adapter === adapter && broken(ofAdapter(judged)),
      message,
    }),
  ),
  {
    fields: ['bf16', 'adapter', 'modules_to_save', 'device'],
    broken: ({ asked, settings, context }) =>
      trainsWeights(settings) && asked.bf16 && !runsOnCuda(settings, context),
    message: ({ settings }) =>
      `${settings.adapter === 'full' ? 'full' : 'modules_to_save'} trains float32 weights, and computes with them on a processor; leave bf16 out, or ${settings.adapter === 'full' ? 'set adapter to lora' : 'leave modules_to_save out'}`,
  },
  {
    fields: ['graders', 'strategy'],
    broken: ({ settings, strategy }) => strategy === 'grpo' && settings.graders === null,
    message:
      'grpo learns from what graders say of answers; name at least one, such as [{"name": "a stored grader"}]',
  },
  {
    fields: ['teacher', 'strategy'],
    broken: ({ settings, strategy }) => strategy === 'distill' && settings.teacher === null,
    message:
      'distill learns from a teacher; name one in teacher, such as a larger model of the same family (GET /api/teachers lists what may teach a model)',
  },
  {
    fields: ['use_8bit', 'strategy'],
    broken: ({ asked, strategy }) => strategy === 'qlora' && asked.use_8bit,
    message: 'the strategy qlora trains on 4-bit weights; leave use_8bit out, or set strategy to sft',
  },
  {
    fields: ['strategy'],
    broken: ({ strategy, context }) => strategy === 'qlora' && !context.quantizes,
    message: 'qlora needs the package bitsandbytes, which is not installed here; use sft',
  },
  ...(['use_4bit', 'use_8bit'] as const).flatMap((bits): Rule[] => [
    {
      fields: [bits],
      broken: ({ asked, context }) => asked[bits] && !context.quantizes,
      message: `${bits} needs the package bitsandbytes, which is not installed here; set it to false`,
    },
    {
      fields: [bits, 'device'],
      broken: ({ asked }) => asked[bits] && asked.device === 'mps' && isApple,
      message: `${bits} does not run on Apple's GPUs; set it to false, or device to "cpu"`,
    },
  ]),
  {
    fields: ['device'],
    broken: ({ asked }) => asked.device === 'mps' && !isApple,
    message: 'device "mps" is Apple\'s; this machine has none, so use "auto" or "cpu"',
  },
  {
    fields: ['device'],
    broken: ({ asked, context }) => asked.device === 'cuda' && !context.cuda,
    message: 'device "cuda" is not available on this machine; use "auto" or "cpu"',
  },
  {
    fields: ['workers', 'strategy', 'provider'],
    broken: (judged) => judged.settings.workers > 1 && whyOneWorker(judged) !== undefined,
    message: (judged) => `workers must be 1 here: ${whyOneWorker(judged)}`,
  },
  {
    fields: ['workers', 'device'],
    broken: ({ settings, context }) =>
      !context.cluster && settings.workers > 1 && isApple && settings.device !== 'cpu',
    message: 'several workers do not train on an Apple GPU; set workers to 1, or device to "cpu"',
  },
  {
    fields: ['workers', 'device'],
    broken: (judged) =>
      !judged.context.cluster && judged.settings.workers > Math.max(1, devices(judged).count),
    message: (judged) => {
      const { count, unit } = devices(judged);
      return `${judged.settings.workers} workers need as many ${unit}s, and this machine has ${count} ${unit}${count === 1 ? '' : 's'} for training; set workers to ${count === 1 ? '1' : `1 to ${count}`}, or start Hone with --cluster`;
    },
  },
  {
    fields: ['workers', 'gradient_accumulation_steps', 'per_device_train_batch_size', 'compute_specs'],
    broken: ({ settings }) => shareOfStep(settings, settings.workers) === null,
    message: ({ settings }) => {
      const possible = Array.from({ length: 64 }, (_, index) => index + 1).filter(
        (count) => shareOfStep(settings, count) !== null,
      );
      return `${settings.workers} workers cannot share a step of ${settings.per_device_train_batch_size} × ${settings.gradient_accumulation_steps} rows (per_device_train_batch_size × gradient_accumulation_steps) equally; set workers to one of ${possible.join(', ')}, or gradient_accumulation_steps to a multiple of ${settings.workers}`;
    },
  },
  {
    fields: ['fp16', 'device'],
    broken: ({ asked, settings, context }) => asked.fp16 && !runsOnCuda(settings, context),
    message: 'fp16 needs an NVIDIA GPU; leave it out, or set bf16',
  },
  {
    fields: [
      'gradient_accumulation_steps',
      'per_device_train_batch_size',
      'group_size',
      'strategy',
      'compute_specs',
    ],
    broken: ({ settings, strategy }) =>
      strategy != null && comparesAnswers(strategy) && promptsPerStep(settings, strategy) === null,
    message: (judged) => {
      const most = mostAnswers[judged.strategy ?? ''] ?? 0;
      const { group_size: asked } = judged.settings;
      const counts = asked === null ? `2 to ${most}` : String(asked);
      const some = Array.from({ length: most - 1 }, (_, index) => most - index);
      return `${judged.strategy} compares ${counts} answers to a prompt within a step, and per_device_train_batch_size × gradient_accumulation_steps is ${rowsPerStep(judged)}; make it a multiple of ${asked ?? some.join(', ')}`;
    },
  },
];

/** Adds an error for every broken rule; a rule that involves an unreadable field is skipped. */
export function judgeSettings(
  { fields, refused }: ReadRequest,
  provider: string | null,
  context: SettingsContext,
  faults: Faults,
): void {
  const settings = settingsOf(fields, context);
  const { strategy, validation_dataset: validationDataset } = fields;
  const judged = { asked: askedOf(fields), settings, validationDataset, strategy, provider, context };
  for (const { fields: spoken, broken, message } of rules) {
    if (spoken.some((field) => refused.has(field)) || !broken(judged)) continue;
    faults.add(spoken[0], typeof message === 'string' ? message : message(judged));
  }
}
