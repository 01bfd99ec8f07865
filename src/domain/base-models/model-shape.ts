import { open, readdir } from 'node:fs/promises';
import { modelFile, readModelJson } from './files/model-file.ts';
import { indexedWeights, loadedWeights } from './files/weight-files.ts';
import { kindOf, type ModelKind } from './gguf/gguf-verdict.ts';

/** The sizes of a decoder model that its memory depends on. */
export interface ModelShape {
  readonly parameters: number;
  readonly layers: number;
  readonly hidden: number;
  readonly intermediate: number;
  /** Total width of keys and values over all heads. */
  readonly keyValue: number;
  readonly vocabulary: number;
  /** Of a model with experts. */
  readonly experts?: Experts | null;
}

/** The feed-forward layers of a model with experts: some are dense, the others have experts and may have shared ones. */
export interface Experts {
  readonly count: number;
  /** Width of an expert, and of all shared experts of a layer together (0 without). */
  readonly width: number;
  readonly sharedWidth: number;
  readonly denseLayers: number;
}

/** The format allows 100 MB. Real headers have less than 1 MB, and reading one takes ten times its size in memory. */
const maximumHeaderBytes = 2 ** 24;

/** The sizes in a `config.json`; `null` if missing. */
export function shapeOf(config: Readonly<Record<string, unknown>>, parameters: number): ModelShape | null {
  const inner = (config.text_config ?? config) as Record<string, unknown>;
  const { number, hidden, layers, intermediate } = sizesOf(inner);
  const vocabulary = number('vocab_size');
  if (layers === undefined || hidden === undefined || vocabulary === undefined) return null;
  const heads = number('num_attention_heads', 'n_head', 'num_heads') ?? 1;
  const headWidth = number('head_dim', 'd_kv') ?? hidden / heads;
  return {
    parameters,
    layers,
    hidden,
    intermediate: intermediate ?? 4 * hidden,
    keyValue: (number('num_key_value_heads') ?? heads) * headWidth,
    vocabulary,
    experts: expertsOf(inner, intermediate ?? 4 * hidden),
  };
}

/** The experts of a configuration, whose names for them differ by family; `null` without any. */
function expertsOf(config: Readonly<Record<string, unknown>>, intermediate: number): Experts | null {
  const { number } = sizesOf({ ...config, ...(config.ffn_config as Record<string, unknown> | undefined) });
  const count =
    number('num_experts', 'n_routed_experts', 'num_local_experts', 'moe_num_experts', 'num_moe_experts') ?? 0;
  if (count === 0) return null;
  const width = number('moe_intermediate_size', 'expert_ffn_hidden_size', 'ffn_hidden_size') ?? intermediate;
  const shared = number('n_shared_experts', 'num_shared_experts', 'moe_num_shared_experts') ?? 0;
  return {
    count,
    width,
    sharedWidth: number('shared_expert_intermediate_size', 'shared_intermediate_size') ?? shared * width,
    denseLayers: number('first_k_dense_replace', 'num_dense_layers', 'moe_layer_start_index') ?? 0,
  };
}

/** Reads the shape of a local model from its configuration and the headers of its weights. */
export async function readModelShape(path: string): Promise<{ shape: ModelShape | null; kind: ModelKind }> {
  const config = (await readModelJson(path, 'config.json')) as Record<string, unknown>;
  const kind = kindOf(config);
  const sizes = new Map<string, number>();
  for (const name of loadedWeights(await readdir(path), await indexedWeights(path))) {
    for (const [tensor, size] of await tensorSizes(await modelFile(path, name), kind))
      sizes.set(tensor, size);
  }
  const isNested = kind.textType !== null && [...sizes.keys()].some((name) => nested.test(name));
  let parameters = 0;
  for (const [name, size] of sizes) {
    const isText =
      kind.textType === null ||
      (isNested ? nested.test(name) || name.startsWith('lm_head.') : flat.test(name));
    if (isText) parameters += size;
  }
  return { shape: shapeOf(config, parameters), kind };
}

/** Where a multimodal model keeps the tensors of its text part (trainer/model/text_part.py). */
const nested = /^(?:model\.)?(?:language_model|text_model)\./;
/** The same in the first files of Qwen-VL, which have the vision encoder beside it. */
const flat = /^(?:model|lm_head)\./;

/**
 * About how many of the `parameters` of a model that is not downloaded are of its text part: those of a transformer of the
 * sizes of its vision and audio encoders are not.
 */
export function textParameters(config: Readonly<Record<string, unknown>>, parameters: number): number {
  let others = 0;
  for (const part of [config.vision_config, config.audio_config]) {
    const { hidden = 0, intermediate = 0, layers = 0 } = sizesOf(part as Record<string, unknown> | null);
    others += layers * (4 * hidden * hidden + 2 * hidden * intermediate);
  }
  return Math.max(parameters - others, Math.round(parameters / 2));
}

/** The sizes of a transformer, by the names that configurations have for them. */
function sizesOf(part: Readonly<Record<string, unknown>> | null | undefined) {
  const number = (...names: string[]) => {
    const found = names.map((name) => part?.[name]).find((value) => typeof value === 'number');
    return found as number | undefined;
  };
  const hidden = number('embed_dim', 'hidden_size', 'n_embd', 'd_model');
  return {
    number,
    hidden,
    layers: number('num_hidden_layers', 'n_layer', 'num_layers', 'depth', 'conf_num_hidden_layers'),
    intermediate:
      number('intermediate_size', 'n_inner', 'd_ff') ?? (hidden === undefined ? hidden : 4 * hidden),
  };
}

/** Scales and tables beside weights that are stored quantized. */
const beside =
  /\.(?:(?:nested_)?(?:absmax|quant_map)|quant_state\..*|SCB|weight_format|qzeros|scales|g_idx|weight_(?:shape|g_idx))$|_scales?$|_scale_inv$|_zero_point$/;

/**
 * The number of weights in each tensor of a safetensors file: eight bytes of header length, then JSON with the shape of
 * every tensor. Two weights of four bits are in a byte, and codes fill words of 32 bits.
 */
async function tensorSizes(
  path: string,
  { quantization, bits, codes }: ModelKind,
): Promise<Map<string, number>> {
  const pairs = bits === 4 || quantization === 'mxfp4' || codes !== null;
  const inWord = codes === null ? 1 : Math.floor(32 / codes.bits);
  const weightsIn = (dtype: string | undefined) =>
    dtype === 'I32' ? inWord : pairs && dtype === 'U8' ? 2 : 1;
  return new Map(
    Object.entries(await readHeader(path))
      .filter(([name]) => quantization === null || !beside.test(name))
      .map(([name, { shape, dtype }]) => [
        name,
        (shape?.reduce((product, size) => product * size, 1) ?? 0) * weightsIn(dtype),
      ]),
  );
}

/** The names of the tensors of a safetensors file; none if its header is too large to read. @throws if it is damaged. */
export const tensorNames = async (path: string): Promise<string[]> =>
  Object.keys(await readHeader(path)).filter((name) => name !== '__metadata__');

async function readHeader(path: string): Promise<Record<string, { shape?: number[]; dtype?: string }>> {
  const file = await open(path, 'r');
  try {
    const { buffer } = await file.read(Buffer.alloc(8), 0, 8, 0);
    const length = Number(buffer.readBigUInt64LE());
    if (length > maximumHeaderBytes) return {};
    const header = await file.read(Buffer.alloc(length), 0, length, 8);
    return JSON.parse(header.buffer.toString('utf8'));
  } finally {
    await file.close();
  }
}
