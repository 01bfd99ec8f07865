/** The facts that decide how a model can be trained, and whether it can be converted to GGUF; `null` if unknown. */
export interface ModelKind {
  readonly architecture: string | null;
  readonly modelType: string | null;
  readonly isEncoderDecoder: boolean;
  /** The `model_type` of the text part of a model that also sees or hears. */
  readonly textType: string | null;
  /** The architecture that llama.cpp's converter takes it for. */
  readonly converted: string | null;
  /** The existing quantization of its weights. */
  readonly quantization: string | null;
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
  // Older files of some models have the text's sizes beside those of the eyes.
  const isPart = text !== null || partOf(config.vision_config) !== null;
  const architecture = firstOf(config.architectures);
  const { quantization_config: quantized } = config;
  return {
    architecture,
    modelType,
    isEncoderDecoder,
    textType: isPart && !isEncoderDecoder ? (textOf(text?.model_type) ?? `${modelType}_text`) : null,
    converted: firstOf(text?.architectures) ?? architecture,
    quantization: quantized
      ? String((quantized as { quant_method?: unknown }).quant_method ?? 'quantized')
      : null,
  };
}

/** A model of which nothing is known. */
export const unknownKind: ModelKind = {
  architecture: null,
  modelType: null,
  isEncoderDecoder: false,
  textType: null,
  converted: null,
  quantization: null,
};

/**
 * Why a model cannot be converted to GGUF, as far as known before loading it; the trainer decides (`verdict` in
 * trainer/export/architectures.py).
 * @param exportable the architectures that llama.cpp supports; empty if its converter is missing.
 */
export function whyNoGguf(
  { converted, quantization }: ModelKind,
  exportable: readonly string[],
): string | null {
  if (converted !== null && exportable.length > 0 && !exportable.includes(converted))
    return `llama.cpp cannot run the architecture ${converted}`;
  return quantization === null ? null : `its weights are already quantized (${quantization})`;
}
