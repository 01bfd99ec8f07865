import type { Settings } from '../../contract/settings.ts';
import {
  embeddingsIn,
  type VocabularyRequest,
  vocabularyLimits,
  vocabularySettings,
} from '../../contract/training/vocabulary.ts';
import type { Faults } from '../../faults.ts';
import type { ModelKind } from '../base-models/gguf/gguf-verdict.ts';
import type { Choices } from './judge-choices.ts';
import type { ReadRequest } from './training-request.ts';

/** Adds an error for everything that cannot go with training embeddings, output layers and new tokens. */
export function judgeVocabulary(
  { fields, refused }: ReadRequest,
  { settings, strategy, provider }: Pick<Choices, 'settings' | 'strategy' | 'provider'>,
  kind: ModelKind | null,
  goesOn: boolean,
  faults: Faults,
): void {
  for (const name of refused.has('target_modules') ? [] : embeddingsIn(settings.target_modules))
    faults.add(
      'target_modules',
      `${name} is an embedding, which an adapter cannot be merged into; leave it out, or train it fully: "modules_to_save": ["${name.slice(name.lastIndexOf('.') + 1)}"]`,
    );
  const request: VocabularyRequest = {
    ...settings,
    strategy,
    provider,
    merge_adapter: fields.merge_adapter,
    quantization: kind?.quantization ?? null,
    architecture: kind?.architecture ?? null,
    goesOn,
  };
  for (const setting of vocabularySettings.filter((name) => isAsked(settings, name) && !refused.has(name)))
    for (const { settings: limited, field = setting, broken, message } of vocabularyLimits)
      if (limited.includes(setting) && !refused.has(field) && broken(request))
        faults.add(field, message(setting, request));
}

const isAsked = (settings: Settings, name: (typeof vocabularySettings)[number]) => settings[name] !== null;
