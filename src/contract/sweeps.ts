import { graderOf } from './graders/grader-types.ts';
import type { SettingName } from './settings.ts';

/** The states of a sweep. */
export const sweepStates = ['running', 'completed', 'stopped', 'failed'] as const;
export type SweepState = (typeof sweepStates)[number];

/** Whether a metric is better small or large. */
export const directions = ['minimize', 'maximize'] as const;
export type Direction = (typeof directions)[number];

/** The settings that can vary. Those that decide what is validated on, or how, would make trials incomparable. */
export const variedSettings = [
  'learning_rate',
  'num_train_epochs',
  'max_steps',
  'per_device_train_batch_size',
  'gradient_accumulation_steps',
  'lora_r',
  'lora_alpha',
  'lora_dropout',
  'optim',
  'lr_scheduler_type',
  'warmup_ratio',
  'weight_decay',
  'max_grad_norm',
  'beta',
  'packing',
  'use_4bit',
] as const satisfies readonly SettingName[];
export type VariedSetting = (typeof variedSettings)[number];

/** A value of a setting that varies. */
export type ParameterValue = number | string | boolean;
export type Parameters = Readonly<Partial<Record<VariedSetting, ParameterValue>>>;

/** The values of a setting: some, or a range, of which `log` draws orders of magnitude alike. */
export type Dimension =
  | { readonly choices: readonly ParameterValue[] }
  | { readonly low: number; readonly high: number; readonly log: boolean };
export type Space = Readonly<Partial<Record<VariedSetting, Dimension>>>;

/** Bounds of a sweep. */
export const sweepBounds = { trials: 1_000, choices: 100 } as const;
/** The number of trials of a request that names none. */
export const usualTrials = 20;
/** The metric of a request that names none; every training with validation reports it. */
export const usualMetric = 'eval_loss';

/** Of a metric's values, smaller ones are better if it is an error. Scores of graders are none, whatever these are called. */
export const directionOf = (metric: string): Direction =>
  graderOf(metric) === null && /loss|perplexity|error/.test(metric) ? 'minimize' : 'maximize';
