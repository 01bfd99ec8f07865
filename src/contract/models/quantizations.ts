interface QuantizationType {
  /**
   * Bytes per weight, from llama.cpp's block sizes (ggml-common.h), rounded up: models with a large vocabulary keep
   * more weights at a higher precision than the type's name suggests.
   */
  readonly bytesPerWeight: number;
  /** Whether llama.cpp's converter writes it directly; the others are quantized from a 16-bit file. */
  readonly direct: boolean;
  /** Whether it is made by an importance matrix of the model's own rows, where there is one (bench/LOG.md has what that gains). */
  readonly importance: boolean;
}

/** The supported GGUF types, from large to small. */
export const quantizations = {
  F16: { bytesPerWeight: 2, direct: true, importance: false },
  Q8_0: { bytesPerWeight: 1.08, direct: true, importance: false },
  Q6_K: { bytesPerWeight: 0.84, direct: false, importance: false },
  Q5_K_M: { bytesPerWeight: 0.76, direct: false, importance: false },
  Q4_K_M: { bytesPerWeight: 0.7, direct: false, importance: true },
  Q4_0: { bytesPerWeight: 0.68, direct: false, importance: true },
  IQ4_XS: { bytesPerWeight: 0.65, direct: false, importance: true },
  Q3_K_M: { bytesPerWeight: 0.62, direct: false, importance: true },
  Q2_K: { bytesPerWeight: 0.55, direct: false, importance: true },
} as const satisfies Record<string, QuantizationType>;

export type Quantization = keyof typeof quantizations;
export const quantizationTypes = Object.keys(quantizations) as [Quantization, ...Quantization[]];

/** The types that are made if a request names none. */
export const defaultQuantizations: readonly Quantization[] = ['Q8_0'];
