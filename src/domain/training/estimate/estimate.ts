import type { ModelShape } from '../../base-models/model-shape.ts';
import { type DiskBytes, type DiskNeed, diskBytes } from './disk-need.ts';

/** docs/specification.md, Memory estimate: GB per billion parameters, and the overhead. */
const simpleFactors = { '4-bit': 0.5, '8-bit': 1, '16-bit': 2, '32-bit': 4 } as const;
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

/** Bytes that a run needs, by part. */
export interface Estimate {
  readonly weightsBytes: number;
  readonly adapterBytes: number;
  readonly optimizerBytes: number;
  readonly activationsBytes: number;
  readonly logitsBytes: number;
  /** Memory of the libraries: context, kernels, allocator. */
  readonly runtimeBytes: number;
  readonly totalBytes: number;
  readonly disk: DiskBytes;
}

/** The settings that affect memory. */
export interface EstimateSettings {
  readonly precision: Precision;
  readonly batchSize: number;
  readonly sequenceLength: number;
  /** A preference has two. */
  readonly sequencesPerRow: number;
  readonly loraRank: number;
  /** Whether all weights are trained, without an adapter. */
  readonly trainsAll: boolean;
  /** Optimizer state per weight where all are trained. */
  readonly stateBytes: number;
  /** Whether experts have an adapter, too. */
  readonly targetExperts: boolean;
  /** Rows of embedding and output layer that are trained, beside what an adapter changes; then all logits of a part are computed at once. */
  readonly trainedRows: number;
  readonly gradientCheckpointing: boolean;
  /**
   * Whether logits are computed in parts, for labelled tokens only (trainer/kernels/loss.py); on a CPU rows then are one
   * sequence without padding, and so is all else (trainer/padding_free/parts.py).
   */
  readonly paddingFree: boolean;
  /** Rows whose answers are written together before each step, which is not divided then; 0 where none are. */
  readonly writtenRows: number;
  /** Models of this size in memory: rlhf has one that rewards, too. */
  readonly models: number;
  readonly disk: DiskNeed;
  /** Whether the base model must be downloaded. */
  readonly download: boolean;
  readonly gpu: boolean;
  /** How many processes take this much of the same memory: the workers of a run without a GPU. */
  readonly copies: number;
}

/** Bytes per weight in memory: nf4 has half a byte per weight and a scale per block of 64 (QLoRA, section 3). */
const weightBytes: Record<Precision, number> = { '4-bit': 0.5625, '8-bit': 1.03, '16-bit': 2, '32-bit': 4 };

/** Measured: a process that has imported torch, transformers, TRL and PEFT, and a CUDA context with its kernels. */
const importedBytes = 1_000e6;
const cudaBytes = 1.2e9;
/**
 * Activations that one layer keeps for the backward pass, in units of batch × length × width elements, without the
 * attention matrix, which SDPA does not keep (Korthikanti et al. 2022, equation 1: 34 bytes at 16 bits).
 */
const activationElements = 17;

/**
 * The same of Hone's own layers, which compute rows without padding on a CPU: inputs and outputs of two norms, queries,
 * keys, values and answers, and what one layer needs meanwhile. Measured: 93 MB for 1,024 tokens and more of a model of 8
 * layers of 256 and 688.
 */
const fusedElements = 9;

/** Most models on the hub are stored in 16 bits. */
const downloadBytesPerWeight = 2;

/** `TOKENS` in trainer/padding_free/parts.py. */
const partTokens = 1280;

/** How many float32 copies of all logits a step holds that does not compute them in parts: on an H100, measured (bench/LOG.md). */
const logitsCopies = { cpu: 2, gpu: 2.75 };

/** Logits computed at a time (`LOGITS` in trainer/kernels/loss.py), with copies as computed, as float32 and as probabilities. */
const logitsPartBytes = 2 ** 23 * (4 + 4 + 4);
/** The same on a CPU, of each word of the vocabulary (`ROWS` there), with one copy. */
const logitsBytesOfWord = 192 * (4 + 4);

/** Estimates memory and disk of a run from the model's shape. */
export function estimate(shape: ModelShape, settings: EstimateSettings): Estimate {
  const { hidden, intermediate, keyValue, layers, vocabulary, parameters } = shape;
  const { loraRank, batchSize, sequenceLength, trainedRows } = settings;
  // The widths of the feed-forward layers that are not experts, which have no adapter and are not quantized.
  const dense = feedForwardWidths(shape);
  // Only the blocks' linear layers are quantized; embeddings and the head keep the compute precision.
  const inBlocks = Math.min(
    parameters,
    layers * (2 * hidden * hidden + 2 * hidden * keyValue) +
      dense.reduce((sum, width) => sum + 3 * hidden * width, 0),
  );
  const quantized = settings.precision === '4-bit' || settings.precision === '8-bit';
  const otherBytes = quantized ? (settings.gpu ? 2 : 4) : weightBytes[settings.precision];
  const { trainsAll } = settings;
  const weights =
    settings.models * (inBlocks * weightBytes[settings.precision] + (parameters - inBlocks) * otherBytes);
  // Every linear layer of a block: q, k, v, o, and gate, up, down of dense and shared layers; r × (in + out) each.
  const attention = layers * (4 * hidden + 2 * (hidden + keyValue));
  const lowRankParameters =
    loraRank *
    (attention +
      dense.reduce((sum, width) => sum + 3 * (hidden + width), 0) +
      (settings.targetExperts ? expertWidths(shape) : 0));
  const besideBase = lowRankParameters + trainedRows * hidden;
  const adapter = trainsAll ? 0 : 4 * besideBase;
  const trained = trainsAll ? parameters : besideBase;
  // For each trained weight, Adam keeps two moments and the backward pass a gradient.
  const optimizer = trainsAll ? (4 + settings.stateBytes) * parameters : 3 * adapter;
  const half = settings.precision === '16-bit' || (quantized && settings.gpu);
  const elementBytes = half ? 2 : 4;
  const tokens = batchSize * settings.sequencesPerRow * sequenceLength;
  const inParts = settings.paddingFree && !settings.gpu;
  const { writtenRows } = settings;
  const tokensAtOnce =
    inParts && writtenRows === 0 ? Math.min(tokens, Math.max(partTokens, sequenceLength)) : tokens;
  const kept = (inParts ? fusedElements : activationElements) * hidden + 3 * intermediate;
  const perLayer = tokensAtOnce * kept * elementBytes;
  const boundaries = layers * tokensAtOnce * hidden * elementBytes;
  const ofStep = settings.gradientCheckpointing ? boundaries + perLayer : layers * perLayer;
  // Keys and values, which are kept in float32 on a CPU (trainer/padding_free/kept_rows.py), and are gone when the step begins.
  const ofAnswers = writtenRows * sequenceLength * layers * 2 * keyValue * (settings.gpu ? elementBytes : 4);
  const activations = Math.max(ofStep, ofAnswers);
  const tokensOfLogits = trainedRows > 0 ? tokensAtOnce : tokens;
  const wholeLogits = logitsCopies[settings.gpu ? 'gpu' : 'cpu'] * tokensOfLogits * vocabulary * 4;
  const partLogits = settings.gpu
    ? logitsPartBytes
    : Math.min(logitsPartBytes, logitsBytesOfWord * vocabulary);
  const logits = settings.paddingFree && trainedRows === 0 ? Math.min(wholeLogits, partLogits) : wholeLogits;
  const runtime = importedBytes + (settings.gpu ? cudaBytes : 0);
  const { copies } = settings;
  return {
    weightsBytes: copies * weights,
    adapterBytes: copies * adapter,
    optimizerBytes: copies * optimizer,
    activationsBytes: copies * activations,
    logitsBytes: copies * logits,
    runtimeBytes: copies * runtime,
    totalBytes: copies * (weights + adapter + optimizer + activations + logits + runtime),
    disk: diskBytes(
      settings.disk,
      parameters,
      trained,
      settings.download ? parameters * downloadBytesPerWeight : 0,
    ),
  };
}

/** The width of each feed-forward layer of a model but its experts. */
function feedForwardWidths({ layers, intermediate, experts }: ModelShape): readonly number[] {
  if (!experts) return new Array<number>(layers).fill(intermediate);
  const dense = Math.min(layers, experts.denseLayers);
  return [
    ...new Array<number>(dense).fill(intermediate),
    ...(experts.sharedWidth > 0 ? new Array<number>(layers - dense).fill(experts.sharedWidth) : []),
  ];
}

/** In + out of what all experts of a model have: gate and up in one, and down. */
function expertWidths({ layers, hidden, experts }: ModelShape): number {
  if (!experts) return 0;
  return Math.max(0, layers - experts.denseLayers) * experts.count * (2 * hidden + 3 * experts.width);
}
