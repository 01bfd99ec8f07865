import type { Description } from '../../../trainer/protocol.ts';

/** The facts that decide how a model can be trained, and whether it can be converted to GGUF; `null` if unknown. */
export interface ModelKind {
  readonly architecture: string | null;
  readonly modelType: string | null;
  readonly isEncoderDecoder: boolean;
  /** The `model_type` of the text part of a multimodal model. */
  readonly textType: string | null;
  /** The architecture that llama.cpp's converter takes it for. */
  readonly converted: string | null;
  /** How its weights are stored quantized (`method_of` in trainer/model/quantization/quantized.py). */
  readonly quantization: string | null;
  /** The bits of weights that are stored and stay quantized by bitsandbytes. */
  readonly bits: 4 | 8 | null;
  /** How codes are laid out that stand for the weights, and the bits of each; `null` for other weights. */
  readonly codes: { readonly forms: readonly string[]; readonly bits: number } | null;
}

type Config = Readonly<Record<string, unknown>>;

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
const firstOf = (value: unknown): string | null => textOf(Array.isArray(value) ? value[0] : null);
const partOf = (value: unknown): Config | null =>
  typeof value === 'object' && value !== null ? (value as Config) : null;

/** Reads these facts from a `config.json`. */
export function kindOf(config: Config): ModelKind {
  const text = partOf(config.text_config);
  const modelType = textOf(config.model_type);
  const isEncoderDecoder = Boolean(config.is_encoder_decoder) || Boolean(text?.is_encoder_decoder);
  // Older files of some models have the text's sizes beside those of the vision encoder.
  const isPart = text !== null || partOf(config.vision_config) !== null;
  const architecture = firstOf(config.architectures);
  const stored = [config, text ?? {}]
    .flatMap((part) => [part.quantization_config, part.compression_config])
    .map(partOf)
    .find((part) => part !== null);
  const bits = stored?.load_in_4bit ? 4 : stored?.load_in_8bit ? 8 : null;
  return {
    architecture,
    modelType,
    isEncoderDecoder,
    textType: isPart && !isEncoderDecoder ? (textOf(text?.model_type) ?? `${modelType}_text`) : null,
    converted: firstOf(text?.architectures) ?? architecture,
    quantization:
      stored === undefined
        ? null
        : bits === null
          ? (textOf(stored?.quant_method) ?? 'unknown')
          : 'bitsandbytes',
    bits,
    codes: stored === undefined ? null : codesOf(stored),
  };
}

/** `forms` in trainer/model/quantization/packed.py. */
function codesOf(stored: Config): ModelKind['codes'] {
  const method = textOf(stored.quant_method);
  const groups = Object.values(partOf(stored.config_groups) ?? {})
    .map(partOf)
    .filter((group) => group !== null);
  const bits = [stored.bits, ...groups.map((group) => partOf(group.weights)?.num_bits)].find(
    (value) => Number.isInteger(value) && (value as number) > 0 && (value as number) <= 32,
  );
  const named = (...values: unknown[]) => textOf(values.find((value) => textOf(value) !== null));
  const sparse = named(partOf(stored.sparsity_config)?.format) ?? 'dense';
  const formsOf: Readonly<Record<string, () => string[]>> = {
    gptq: () => [named(stored.checkpoint_format) ?? 'gptq'],
    awq: () => [(named(stored.version, stored.checkpoint_format) ?? 'gemm').toLowerCase()],
    'compressed-tensors': () => [
      ...(groups.length === 0 ? [stored] : groups).map(
        (group) => named(group.format, stored.format) ?? 'unknown',
      ),
      ...(sparse === 'dense' ? [] : [sparse]),
      ...(Object.keys(partOf(partOf(stored.transform_config)?.config_groups) ?? {}).length > 0
        ? ['transformed']
        : []),
    ],
  };
  const forms = ofName(formsOf, method);
  return forms === undefined ? null : { forms: [...new Set(forms())], bits: Number(bits ?? 4) };
}

/** What a table has under a name from outside; none of what every object has. */
export const ofName = <T>(table: Readonly<Record<string, T>>, name: string | null): T | undefined =>
  name !== null && Object.hasOwn(table, name) ? table[name] : undefined;

/** A model of which nothing is known. */
export const unknownKind: ModelKind = {
  architecture: null,
  modelType: null,
  isEncoderDecoder: false,
  textType: null,
  converted: null,
  quantization: null,
  bits: null,
  codes: null,
};

/**
 * Why a model cannot be converted to GGUF, as far as known before loading it; the trainer decides (`verdict` in
 * trainer/model/architectures.py).
 * @param description its `export_architectures` are empty if llama.cpp's converter is missing.
 */
export function whyNoGguf(
  { converted, quantization }: ModelKind,
  description: Pick<Description, 'export_architectures' | 'quantizations'>,
): string | null {
  const { export_architectures: exportable, quantizations } = description;
  if (converted !== null && exportable.length > 0 && !exportable.includes(converted))
    return `llama.cpp cannot run the architecture ${converted}`;
  return quantization === null || ofName(quantizations, quantization)?.merged
    ? null
    : `its weights are already quantized (${quantization})`;
}
