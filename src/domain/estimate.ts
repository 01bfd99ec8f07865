import type { ModelShape } from './model-shape.ts';

/** Specification, "Memory estimate": GB per billion parameters, and the overhead on top. */
export const simpleFactors = { '4-bit': 0.5, '8-bit': 1, '16-bit': 2, '32-bit': 4 } as const;
export type Precision = keyof typeof simpleFactors;
const simpleOverhead = 1.5;

/** Memory by the specification's formula, in GB, for each precision. */
export function simpleEstimate(parameters: number): Record<Precision, number> {
  const billions = parameters / 1e9;
  return Object.fromEntries(
    Object.entries(simpleFactors).map(([precision, factor]) => [
      precision,
      billions * factor * simpleOverhead,
    ]),
  ) as Record<Precision, number>;
}

/** Bytes that a run needs, part by part. */
export interface Estimate {
  readonly weightsBytes: number;
  readonly adapterBytes: number;
  readonly optimizerBytes: number;
  readonly activationsBytes: number;
  readonly logitsBytes: number;
  /** The libraries' own: context, kernels, allocator. */
  readonly runtimeBytes: number;
  readonly totalBytes: number;
  readonly disk: {
    readonly downloadBytes: number;
    readonly checkpointsBytes: number;
    readonly exportBytes: number;
    readonly totalBytes: number;
  };
}

/** What of the settings memory depends on. */
export interface EstimateSettings {
  readonly precision: Precision;
  readonly batchSize: number;
  readonly sequenceLength: number;
  readonly loraRank: number;
  readonly gradientCheckpointing: boolean;
  /** Whether logits are made of labelled tokens alone and a few at a time (trainer/fast/loss.py), not kept whole. */
  readonly logitsInParts: boolean;
  readonly checkpointsKept: number;
  readonly quantizations: readonly string[];
  /** Whether the base model must be fetched. */
  readonly download: boolean;
  readonly gpu: boolean;
}

/** Bytes per weight as held: nf4 has a scale per block of 64 beside its half byte (QLoRA, section 3). */
const weightBytes: Record<Precision, number> = { '4-bit': 0.5625, '8-bit': 1.03, '16-bit': 2, '32-bit': 4 };

/** Bytes per weight of llama.cpp's types, from its blocks (ggml-common.h). */
const quantizedBytes: Readonly<Record<string, number>> = {
  F16: 2,
  Q8_0: 1.0625,
  Q6_K: 0.8203,
  Q5_K_M: 0.71,
  Q4_K_M: 0.606,
  Q4_0: 0.5625,
  IQ4_XS: 0.5313,
  Q3_K_M: 0.489,
  Q2_K: 0.42,
};

/** Measured: a process that has imported torch, transformers, TRL and PEFT; and a CUDA context with its kernels. */
const importedBytes = 1_000e6;
const cudaBytes = 1.2e9;
/** Activations kept for the backward pass of one layer, in units of batch × length × width elements, without
 *  the attention matrix, which SDPA does not keep (Korthikanti et al. 2022, equation 1: 34 bytes at 16 bit). */
const activationElements = 17;

/** Logits that are made at once, in parts (`LOGITS` there), as they come from the layer, as float32 and as shares. */
const logitsPartBytes = 2 ** 23 * (4 + 4 + 4);

/** Estimates memory and disk of a LoRA run from the model's shape. */
export function estimate(shape: ModelShape, settings: EstimateSettings): Estimate {
  const { hidden, intermediate, keyValue, layers, vocabulary, parameters } = shape;
  const { loraRank, batchSize, sequenceLength } = settings;
  // Only the blocks' linear layers are quantized; embeddings and the head stay as they are computed with.
  const inBlocks = Math.min(
    parameters,
    layers * (2 * hidden * hidden + 2 * hidden * keyValue + 3 * hidden * intermediate),
  );
  const quantized = settings.precision === '4-bit' || settings.precision === '8-bit';
  const otherBytes = quantized ? (settings.gpu ? 2 : 4) : weightBytes[settings.precision];
  const weights = inBlocks * weightBytes[settings.precision] + (parameters - inBlocks) * otherBytes;
  // Every linear layer of a block: q, k, v, o, gate, up, down; r × (in + out) each.
  const widths = 4 * hidden + 2 * (hidden + keyValue) + 3 * (hidden + intermediate);
  const adapterParameters = layers * loraRank * widths;
  const adapter = 4 * adapterParameters;
  // Adam keeps two moments, and the backward pass a gradient, of every trained weight.
  const optimizer = 3 * adapter;
  const half = settings.precision === '16-bit' || (quantized && settings.gpu);
  const elementBytes = half ? 2 : 4;
  const perLayer =
    batchSize * sequenceLength * (activationElements * hidden + 3 * intermediate) * elementBytes;
  const boundaries = layers * batchSize * sequenceLength * hidden * elementBytes;
  const activations = settings.gradientCheckpointing ? boundaries + perLayer : layers * perLayer;
  const wholeLogits = 2 * batchSize * sequenceLength * vocabulary * 4;
  const logits = settings.logitsInParts ? Math.min(wholeLogits, logitsPartBytes) : wholeLogits;
  const runtime = importedBytes + (settings.gpu ? cudaBytes : 0);
  const checkpoints = (settings.checkpointsKept + 1) * (adapter + 2 * adapter);
  const download = settings.download ? parameters * 2 : 0;
  const largest = settings.quantizations.some((type) => !['F16', 'Q8_0'].includes(type)) ? 2 : 0;
  const files = settings.quantizations.reduce((sum, type) => sum + (quantizedBytes[type] ?? 2), 0);
  const exported = parameters * (files + largest) + adapter;
  return {
    weightsBytes: weights,
    adapterBytes: adapter,
    optimizerBytes: optimizer,
    activationsBytes: activations,
    logitsBytes: logits,
    runtimeBytes: runtime,
    totalBytes: weights + adapter + optimizer + activations + logits + runtime,
    disk: {
      downloadBytes: download,
      checkpointsBytes: checkpoints,
      exportBytes: exported,
      totalBytes: download + checkpoints + exported,
    },
  };
}
