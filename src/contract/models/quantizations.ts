interface QuantizationType {
  /**
   * Bytes per weight, from llama.cpp's block sizes (ggml-common.h), rounded up: models with a large vocabulary keep
   * more weights at a higher precision than the type's name suggests.
   */
  readonly bytesPerWeight: number;
  /** Whether llama.cpp's converter writes it directly; the others are quantized from a 16-bit file. */
  readonly direct: boolean;
}

/** The supported GGUF types, from large to small. */
export const quantizations = {
  F16: { bytesPerWeight: 2, direct: true },
  Q8_0: { bytesPerWeight: 1.08, direct: true },
  Q6_K: { bytesPerWeight: 0.84, direct: false },
  Q5_K_M: { bytesPerWeight: 0.76, direct: false },
  Q4_K_M: { bytesPerWeight: 0.7, direct: false },
  Q4_0: { bytesPerWeight: 0.68, direct: false },
  IQ4_XS: { bytesPerWeight: 0.65, direct: false },
  Q3_K_M: { bytesPerWeight: 0.62, direct: false },
  Q2_K: { bytesPerWeight: 0.55, direct: false },
} as const satisfies Record<string, QuantizationType>;

export type Quantization = keyof typeof quantizations;
export const quantizationTypes = Object.keys(quantizations) as [Quantization, ...Quantization[]];

/** The types that are made if a request names none. */
export const defaultQuantizations: readonly Quantization[] = ['Q8_0'];
