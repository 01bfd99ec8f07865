import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ExportForm, exportForms } from '../../../contract/models/export-forms.ts';
import { createFaults } from '../../../faults.ts';
import { isGgufPath } from '../../base-models/gguf/gguf-base.ts';
import type { Model } from '../models.ts';

/** Why a model cannot be made into each form, with what to choose instead; `null` where it can. */
export type FormObstacles = Readonly<Record<ExportForm, string | null>>;

/** What is read of a PEFT configuration, and of that of a model all of whose weights were trained. */
interface Configuration {
  readonly task_type?: unknown;
  readonly use_dora?: unknown;
  readonly modules_to_save?: unknown;
  readonly trainable_token_indices?: unknown;
  readonly target_parameters?: unknown;
  readonly is_encoder_decoder?: unknown;
  readonly architectures?: unknown;
}

const isFilled = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

/** @param adapterDir the folder of the model's adapter, or of the whole model that was trained. */
export async function formObstacles(model: Model, adapterDir: string): Promise<FormObstacles> {
  const adapter = await read(join(adapterDir, 'adapter_config.json'));
  const whole = adapter === null ? await read(join(adapterDir, 'config.json')) : null;
  if (!isDecoder(adapter, whole)) {
    const why = `${model.name} is no decoder: neither other engines nor llama.cpp run it merged. Use its files in adapter/ with PEFT and transformers`;
    return { merged: why, adapter_gguf: why };
  }
  return { merged: whyNotMerged(model), adapter_gguf: whyNoAdapterGguf(model, adapter, whole !== null) };
}

/** @throws AppError `invalid` with all reasons. */
export function refuseImpossible(obstacles: FormObstacles, forms: readonly ExportForm[]): void {
  const faults = createFaults();
  for (const form of exportForms) {
    const obstacle = obstacles[form];
    if (forms.includes(form) && obstacle !== null) faults.add(form, obstacle);
  }
  faults.raise();
}

function whyNotMerged({ name, baseModel }: Model): string | null {
  return isGgufPath(baseModel)
    ? `The base of ${name} is a GGUF file, which has no safetensors weights to merge into. Choose a GGUF type (quantizations), or adapter_gguf, which fits that very file`
    : null;
}

function whyNoAdapterGguf({ name }: Model, adapter: Configuration | null, isWhole: boolean): string | null {
  const instead = 'Choose merged, or a GGUF type (quantizations)';
  if (isWhole) return `All weights of ${name} were trained, so there is no adapter. ${instead}`;
  if (adapter?.use_dora === true)
    return `The adapter of ${name} is a DoRA, whose magnitudes llama.cpp does not apply. ${instead}`;
  if (isFilled(adapter?.modules_to_save) || adapter?.trainable_token_indices != null)
    return `The adapter of ${name} replaces whole tensors or rows of them, which llama.cpp's adapters cannot. ${instead}`;
  if (isFilled(adapter?.target_parameters))
    return `The adapter of ${name} changes experts, which llama.cpp's adapters cannot. ${instead}`;
  return null;
}

function isDecoder(adapter: Configuration | null, whole: Configuration | null): boolean {
  if (adapter !== null) return adapter.task_type == null || adapter.task_type === 'CAUSAL_LM';
  const [architecture] = Array.isArray(whole?.architectures) ? whole.architectures : [];
  return whole?.is_encoder_decoder !== true && !/QuestionAnswering$/.test(`${architecture}`);
}

async function read(path: string): Promise<Configuration | null> {
  try {
    const found: unknown = JSON.parse(await readFile(path, 'utf8'));
    return typeof found === 'object' ? found : null;
  } catch {
    // The export itself says what is wrong with a damaged one.
    return null;
  }
}
