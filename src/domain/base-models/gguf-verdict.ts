/** The facts that decide whether a model can be converted to GGUF; `null` if unknown. */
export interface ModelKind {
  readonly architecture: string | null;
  /** The existing quantization of its weights. */
  readonly quantization: string | null;
}

/** Reads these facts from a `config.json`. */
export function kindOf(config: Readonly<Record<string, unknown>>): ModelKind {
  const { architectures, quantization_config: quantized } = config;
  const first = Array.isArray(architectures) ? architectures[0] : null;
  return {
    architecture: typeof first === 'string' && first !== '' ? first : null,
    quantization: quantized
      ? String((quantized as { quant_method?: unknown }).quant_method ?? 'quantized')
      : null,
  };
}

/**
 * Why a model cannot be converted to GGUF, as far as known before loading it; the trainer decides (`verdict` in
 * trainer/export/architectures.py).
 * @param exportable the architectures that llama.cpp supports; empty if its converter is missing.
 */
export function whyNoGguf(
  { architecture, quantization }: ModelKind,
  exportable: readonly string[],
): string | null {
  if (architecture !== null && exportable.length > 0 && !exportable.includes(architecture))
    return `llama.cpp cannot run the architecture ${architecture}`;
  return quantization === null ? null : `its weights are already quantized (${quantization})`;
}
