import type { SettingValues } from '../settings.ts';

/** The parts of a request that a kind of adapter may not go with. */
export interface AdapterRequest extends Partial<SettingValues> {
  readonly strategy?: string | null | undefined;
  readonly provider?: string | null | undefined;
}

/** What does not go with a kind of adapter, and what to choose instead. */
interface AdapterLimit {
  readonly adapter: SettingValues['adapter'];
  readonly field: keyof AdapterRequest;
  readonly broken: (request: AdapterRequest) => boolean;
  readonly message: string;
}

/** The settings of low-rank adapters, which mean nothing where all weights are trained. */
export const lowRankSettings = [
  'lora_r',
  'lora_alpha',
  'lora_dropout',
  'target_modules',
  'target_experts',
  'modules_to_save',
] as const satisfies readonly (keyof SettingValues)[];

/**
 * `request` names the settings that differ from the recommended ones, because clients may send those back; strategy and
 * provider are those of the run.
 */
export const adapterLimits: readonly AdapterLimit[] = [
  {
    adapter: 'dora',
    field: 'provider',
    broken: ({ provider }) => provider === 'accelerated',
    message:
      'The accelerated provider has no kernels for dora; set adapter to lora or rslora, or provider to standard',
  },
  {
    adapter: 'full',
    field: 'provider',
    broken: ({ provider }) => provider === 'accelerated',
    message:
      'The accelerated provider trains adapters only; set adapter to lora or rslora, or provider to standard',
  },
  {
    adapter: 'full',
    field: 'strategy',
    broken: ({ strategy }) => strategy === 'qlora',
    message: 'Weights in 4 bits cannot be trained themselves; set strategy to sft, or adapter to lora',
  },
  {
    adapter: 'full',
    field: 'strategy',
    broken: ({ strategy }) => strategy !== 'sft' && strategy !== 'qlora' && strategy !== 'distill',
    message:
      'This strategy compares the model with what it was before, which full would keep a second copy of; set strategy to sft, or adapter to lora',
  },
  ...(['use_4bit', 'use_8bit'] as const).map(
    (field): AdapterLimit => ({
      adapter: 'full',
      field,
      broken: (request) => request[field] === true,
      message: `Weights in ${field === 'use_4bit' ? 4 : 8} bits cannot be trained themselves; leave ${field} out, or set adapter to lora`,
    }),
  ),
  ...lowRankSettings.map(
    (field): AdapterLimit => ({
      adapter: 'full',
      field,
      broken: (request) => request[field] != null,
      message: `${field} is a setting of low-rank adapters, and full trains all weights; leave it out, or set adapter to lora`,
    }),
  ),
];
