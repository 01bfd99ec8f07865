import type { RowShape } from '../rows.ts';
import type { Settings } from '../settings.ts';

/** The settings that affect the number of steps. */
export type StepSettings = Pick<
  Settings,
  | 'num_train_epochs'
  | 'max_steps'
  | 'per_device_train_batch_size'
  | 'gradient_accumulation_steps'
  | 'eval_split'
  | 'group_size'
>;

/** The most answers to a prompt that strategies compare, unless a request says how many. */
export const mostAnswers: Readonly<Record<string, number>> = { rlhf: 4, grpo: 8 };

/** Whether a strategy trains on answers of the model: its loss says nothing about them. */
export const comparesAnswers = (strategy: string | null | undefined): boolean =>
  strategy != null && Object.hasOwn(mostAnswers, strategy);

/** Rounds half to even, like Python's `round`. */
function roundHalfEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  if (rest !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}

/** The number of rows held out for validation (trainer/data/steps.py, `held_out_rows`); none of no rows. */
export function heldOutRows(rows: number, evalSplit: number): number {
  if (evalSplit <= 0 || rows <= 0) return 0;
  return Math.min(Math.max(1, roundHalfEven(rows * evalSplit)), rows - 1);
}

/**
 * Whether a row of this shape may be trained as several sequences: a conversation that its template writes differently
 * once it goes on, and a text that is longer than `max_seq_length`.
 */
export const mayBecomeSeveral = (shape: RowShape | null | undefined): boolean =>
  shape === 'messages' || shape === 'text';

/** The number of rows used for training. */
export const trainingRows = (rows: number, evalSplit: number): number => rows - heldOutRows(rows, evalSplit);

/**
 * The number of prompts per step of a strategy that compares answers, `null` for others and if the rows of a step cannot be
 * divided evenly (`generations` there).
 */
export function promptsPerStep(settings: StepSettings, strategy: string): number | null {
  const batch = settings.per_device_train_batch_size * settings.gradient_accumulation_steps;
  const asked = strategy === 'grpo' ? settings.group_size : null;
  for (let answers = asked ?? mostAnswers[strategy] ?? 0; answers >= (asked ?? 2); answers -= 1)
    if (batch % answers === 0) return batch / answers;
  return null;
}

/**
 * How `workers` share a step: the micro-batch and the accumulation steps of each, or `null` if they cannot share it
 * equally (trainer/data/steps.py, `share_of_step`).
 */
export function shareOfStep(
  {
    per_device_train_batch_size: size,
    gradient_accumulation_steps: accumulation,
  }: Pick<Settings, 'per_device_train_batch_size' | 'gradient_accumulation_steps'>,
  workers: number,
): { readonly size: number; readonly accumulation: number } | null {
  const divided = commonDivisor(accumulation, workers);
  const parts = workers / divided;
  return size % parts === 0 ? { size: size / parts, accumulation: accumulation / divided } : null;
}

const commonDivisor = (one: number, other: number): number =>
  other === 0 ? one : commonDivisor(other, one % other);

/**
 * The number of optimizer steps of a run, computed as the trainer does (trainer/data/steps.py, `planned`; a test
 * compares the two). Skipped rows and packing reduce it; rows that become several sequences increase it.
 */
export function totalSteps(settings: StepSettings, strategy: string, rows: number): number {
  const { max_steps, num_train_epochs, per_device_train_batch_size, gradient_accumulation_steps } = settings;
  if (max_steps > 0) return max_steps;
  const training = trainingRows(rows, settings.eval_split);
  const prompts = promptsPerStep(settings, strategy);
  const perEpoch =
    prompts === null
      ? Math.ceil(Math.ceil(training / per_device_train_batch_size) / gradient_accumulation_steps)
      : Math.floor(training / prompts);
  return Math.ceil(num_train_epochs * Math.max(1, perEpoch));
}
