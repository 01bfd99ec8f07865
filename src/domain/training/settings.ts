import type { Profile } from '../../contract/profiles.ts';
import {
  recommendedFor,
  type SettingName,
  type Settings,
  type SettingValues,
  settingNames,
} from '../../contract/settings.ts';
import type { TrainingRequest } from './training-request.ts';

/** The capabilities of this machine that settings depend on. */
export interface SettingsContext {
  readonly profile: Profile;
  /** Whether training will run on CUDA. */
  readonly cuda: boolean;
  /** Whether weights can be quantized to 4 or 8 bits: with bitsandbytes, on CUDA and on a CPU. */
  readonly quantizes: boolean;
  /** The smallest hidden size for which training on the CPU uses bfloat16; `null` if none. */
  readonly bfloat16FromWidth: number | null;
  /** `SERVICE_DEFAULT_BATCH_SIZE`, for requests that name no batch size. */
  readonly defaultBatchSize: number | null;
  readonly lrSchedulerTypes: readonly string[];
  readonly optimizers: readonly string[];
  /** Optimizer state in bytes per trained weight, by optimizer. */
  readonly optimizerStateBytes: Readonly<Record<string, number>>;
}

/** The recommended settings on a machine. */
export function recommendedSettings(context: SettingsContext): Settings {
  const { profile, cuda, quantizes, defaultBatchSize } = context;
  const recommended = recommendedFor(profile);
  const batchSize = defaultBatchSize ?? recommended.per_device_train_batch_size;
  return {
    ...recommended,
    per_device_train_batch_size: batchSize,
    per_device_eval_batch_size: batchSize,
    // 4-bit saves GPU memory. On a CPU it saves almost none, so a profile alone does not enable it.
    use_4bit: recommended.use_4bit && cuda && quantizes,
    bf16: cuda ? recommended.bf16 : null,
  };
}

/** The settings that a request names. */
export function askedOf(request: Partial<TrainingRequest>): Partial<SettingValues> {
  return Object.fromEntries(
    settingNames.flatMap((name: SettingName) => (request[name] == null ? [] : [[name, request[name]]])),
  );
}

/** The settings of a valid request: its own values over the recommended ones. */
export function settingsOf(request: Partial<TrainingRequest>, context: SettingsContext): Settings {
  const asked = askedOf(request);
  return {
    ...recommendedSettings(context),
    ...(asked.use_8bit ? { use_4bit: false } : {}),
    ...(asked.fp16 ? { bf16: null } : {}),
    ...(asked.per_device_train_batch_size
      ? { per_device_eval_batch_size: asked.per_device_train_batch_size }
      : {}),
    ...(asked.lora_r ? { lora_alpha: 2 * asked.lora_r } : {}),
    ...asked,
  };
}
