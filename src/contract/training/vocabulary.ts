import type { Settings, SettingValues } from '../settings.ts';
import { embeddingModules, outputModules } from './embeddings.ts';

/** The settings that train embeddings and the output layer. */
export const vocabularySettings = [
  'modules_to_save',
  'new_tokens',
] as const satisfies readonly (keyof SettingValues)[];
type VocabularySetting = (typeof vocabularySettings)[number];

/** A run, as these settings are judged by it. */
export interface VocabularyRequest
  extends Pick<Settings, 'modules_to_save' | 'target_modules' | 'use_4bit' | 'use_8bit' | 'workers'> {
  readonly strategy: string | null;
  readonly provider: string | null;
  /** Whether an adapter is merged into the base first, because the request asks for it. */
  readonly merge_adapter?: boolean | null | undefined;
  /** How the base's weights are stored quantized; `null` if they are not. */
  readonly quantization: string | null;
  /** Its class, such as LlamaForCausalLM; `null` if unknown. */
  readonly architecture: string | null;
  /** Whether the run goes on from a model that was trained here. */
  readonly goesOn: boolean;
}

/** What does not go with training embeddings or with new tokens, and what to choose instead. */
interface VocabularyLimit {
  readonly settings: readonly VocabularySetting[];
  /** The field that the error is reported for, if it is not the setting itself. */
  readonly field?: keyof SettingValues | 'model_name' | 'strategy' | 'provider' | 'merge_adapter';
  readonly broken: (request: VocabularyRequest) => unknown;
  /** @param setting the one that is asked for. */
  readonly message: (setting: VocabularySetting, request: VocabularyRequest) => string;
}

/** The settings of `request` are those of the run, recommended ones included; what is not known of it is `null`. */
export const vocabularyLimits: readonly VocabularyLimit[] = [
  {
    settings: vocabularySettings,
    field: 'strategy',
    broken: ({ strategy }) => strategy !== null && strategy !== 'sft',
    message: (setting, { strategy }) =>
      `${setting} goes with the strategy sft, not with ${strategy}; set strategy to sft, or leave ${setting} out. A model that sft has trained with it can be exported as merged weights, whose folder any strategy takes`,
  },
  {
    settings: vocabularySettings,
    field: 'provider',
    broken: ({ provider }) => provider === 'accelerated',
    message: (setting) =>
      `The accelerated provider trains low-rank adapters alone; set provider to standard, or leave ${setting} out`,
  },
  ...(['use_4bit', 'use_8bit'] as const).map(
    (field): VocabularyLimit => ({
      settings: vocabularySettings,
      field,
      broken: (request) => request[field],
      message: (setting) =>
        `${setting} trains weights of the model itself, which is loaded in 16 or 32 bits for it; set ${field} to false, or leave ${setting} out`,
    }),
  ),
  {
    settings: vocabularySettings,
    field: 'workers',
    broken: ({ workers }) => workers > 1,
    message: (setting) => `${setting} trains in one process; set workers to 1, or leave ${setting} out`,
  },
  {
    settings: vocabularySettings,
    field: 'model_name',
    broken: ({ quantization }) => quantization !== null,
    message: (setting, { quantization }) =>
      `${setting} trains weights of the model itself, and these are stored quantized (${quantization}); choose the 16-bit version of this model, or leave ${setting} out`,
  },
  {
    settings: vocabularySettings,
    field: 'model_name',
    broken: ({ architecture }) => architecture !== null && !architecture.endsWith('ForCausalLM'),
    message: (setting, { architecture }) =>
      `${setting} is for models that are a decoder of text (…ForCausalLM), and this is a ${architecture}; choose another model, or leave ${setting} out`,
  },
  {
    settings: vocabularySettings,
    field: 'merge_adapter',
    broken: ({ merge_adapter, goesOn }) => merge_adapter && !goesOn,
    message: (setting) =>
      `${setting} needs a model without an adapter beside it; merge the adapter with PEFT (merge_and_unload), or leave ${setting} out`,
  },
  {
    settings: vocabularySettings,
    field: 'model_name',
    broken: ({ goesOn }) => goesOn,
    message: (setting) =>
      `${setting} begins with a base model, and this model was trained here; name its merged GGUF file or the folder of its merged weights (POST /api/models/{id}/export), or leave ${setting} out`,
  },
  {
    settings: ['modules_to_save'],
    field: 'target_modules',
    broken: ({ modules_to_save, target_modules }) =>
      target_modules?.some((name) => modules_to_save?.includes(lastPart(name))),
    message: () =>
      'A layer is trained as a whole or with an adapter, not both; name it in modules_to_save or in target_modules',
  },
  {
    settings: ['new_tokens'],
    field: 'target_modules',
    broken: ({ modules_to_save, target_modules }) =>
      modules_to_save === null &&
      target_modules?.some((name) => outputModules.some((one) => one === lastPart(name))),
    message: () =>
      'new_tokens trains rows of the output layer, which then cannot have an adapter; name the layer in modules_to_save instead of target_modules',
  },
];

/** Embeddings that are named in `target_modules`, to which an adapter cannot be merged. */
export const embeddingsIn = (targets: readonly string[] | null | undefined): readonly string[] =>
  (targets ?? []).filter((name) => embeddingModules.some((one) => one === lastPart(name)));

const lastPart = (name: string) => name.slice(name.lastIndexOf('.') + 1);
