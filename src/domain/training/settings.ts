import type { Profile } from '../../contract/profiles.ts';
import {
  type Capability,
  mayBeNull,
  recommendedFor,
  type Setting,
  type SettingName,
  type Settings,
  type SettingValues,
  settingNames,
  settings,
} from '../../contract/settings.ts';
import type { TrainingRequest } from './training-request.ts';

/** The capabilities of this machine that settings depend on. */
export interface SettingsContext extends Readonly<Record<Capability, boolean>> {
  readonly profile: Profile;
  /** Whether this machine trains on CUDA unless a request asks for another device. */
  readonly cuda: boolean;
  /** Whether weights can be quantized to 4 or 8 bits: with bitsandbytes, on CUDA and on a CPU. */
  readonly quantizes: boolean;
  /** The smallest hidden size for which training on the CPU uses bfloat16; `null` if none. */
  readonly bfloat16FromWidth: number | null;
  /** The processor cores and GPUs that training may use, whole ones. */
  readonly cores: number;
  readonly gpus: number;
  /** Whether runs with several workers train on a cluster, whose devices are known when they start. */
  readonly cluster: boolean;
  /** Strategies and providers that train with one worker alone, and why. */
  readonly oneWorker: readonly {
    readonly strategy: string;
    readonly provider: string;
    readonly why: string;
  }[];
  /** `SERVICE_DEFAULT_BATCH_SIZE`, for requests that name no batch size. */
  readonly defaultBatchSize: number | null;
  readonly lrSchedulerTypes: readonly string[];
  readonly optimizers: readonly string[];
  /** Optimizer state in bytes per trained weight, by optimizer. */
  readonly optimizerStateBytes: Readonly<Record<string, number>>;
}

/** What recommended settings depend on. */
type RecommendationContext = Pick<SettingsContext, 'profile' | 'defaultBatchSize' | Capability>;

/** The settings that a request names. */
export function askedOf(request: Partial<TrainingRequest>): Partial<SettingValues> {
  return Object.fromEntries(
    settingNames.flatMap((name: SettingName) => (request[name] == null ? [] : [[name, request[name]]])),
  );
}

/** The settings of a valid request: its own values over the recommended ones. */
export function settingsOf(request: Partial<TrainingRequest>, context: RecommendationContext): Settings {
  const asked = askedOf(request);
  const ofOthers = recommendedFor(asked);
  const value = (name: SettingName): unknown => asked[name] ?? recommended(name);
  const recommended = (name: SettingName) => {
    const row: Setting = settings[name];
    if (row.derivedFrom !== undefined) {
      const { setting, factor } = row.derivedFrom;
      return factor * (value(setting as SettingName) as number);
    }
    if (name in ofOthers) return ofOthers[name];
    if (name === 'per_device_train_batch_size' && context.defaultBatchSize !== null) {
      return context.defaultBatchSize;
    }
    if (row.kind === 'switch') {
      const lacks = row.needs?.some((capability) => !context[capability]);
      if (lacks || asked[row.excludedBy as SettingName]) return mayBeNull(row) ? null : false;
    }
    const byProfile = typeof row.recommended === 'object' ? row.recommended : null;
    return byProfile === null ? row.recommended : byProfile[context.profile];
  };
  // Each value is of its setting's kind.
  return Object.fromEntries(settingNames.map((name) => [name, value(name)])) as unknown as Settings;
}

/** The recommended settings on a machine. */
export const recommendedSettings = (context: RecommendationContext): Settings => settingsOf({}, context);

/** Whether a run trains on CUDA: the machine has it, and the settings ask for no other device. */
export const runsOnCuda = ({ device }: Pick<Settings, 'device'>, { cuda }: SettingsContext): boolean =>
  cuda && (device === 'auto' || device === 'cuda');
