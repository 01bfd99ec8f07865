import { open, readdir } from 'node:fs/promises';
import { kindOf, type ModelKind } from './gguf-verdict.ts';
import { modelFile, readModelJson } from './model-file.ts';

/** The sizes of a decoder model that its memory depends on. */
export interface ModelShape {
  readonly parameters: number;
  readonly layers: number;
  readonly hidden: number;
  readonly intermediate: number;
  /** Total width of keys and values over all heads. */
  readonly keyValue: number;
  readonly vocabulary: number;
}

/** The format allows 100 MB. Real headers have less than 1 MB, and reading one takes ten times its size in memory. */
const maximumHeaderBytes = 2 ** 24;

/** The sizes in a `config.json`; `null` if missing. */
export function shapeOf(config: Readonly<Record<string, unknown>>, parameters: number): ModelShape | null {
  const inner = (config.text_config ?? config) as Record<string, unknown>;
  const number = (...names: string[]) => {
    const found = names.map((name) => inner[name]).find((value) => typeof value === 'number');
    return found as number | undefined;
  };
  const layers = number('num_hidden_layers', 'n_layer', 'num_layers');
  const hidden = number('hidden_size', 'n_embd', 'd_model');
  const vocabulary = number('vocab_size');
  if (layers === undefined || hidden === undefined || vocabulary === undefined) return null;
  const heads = number('num_attention_heads', 'n_head', 'num_heads') ?? 1;
  const headWidth = number('head_dim', 'd_kv') ?? hidden / heads;
  return {
    parameters,
    layers,
    hidden,
    intermediate: number('intermediate_size', 'n_inner', 'd_ff') ?? 4 * hidden,
    keyValue: (number('num_key_value_heads') ?? heads) * headWidth,
    vocabulary,
  };
}

/** Reads the shape of a local model from its configuration and the headers of its weights. */
export async function readModelShape(path: string): Promise<{ shape: ModelShape | null; kind: ModelKind }> {
  const config = (await readModelJson(path, 'config.json')) as Record<string, unknown>;
  let parameters = 0;
  for (const name of await readdir(path)) {
    if (name.endsWith('.safetensors')) parameters += await countParameters(await modelFile(path, name));
  }
  return { shape: shapeOf(config, parameters), kind: kindOf(config) };
}

/** safetensors: eight bytes of header length, then JSON with the shape of every tensor. */
async function countParameters(path: string): Promise<number> {
  const file = await open(path, 'r');
  try {
    const { buffer } = await file.read(Buffer.alloc(8), 0, 8, 0);
    const length = Number(buffer.readBigUInt64LE());
    if (length > maximumHeaderBytes) return 0;
    const header = await file.read(Buffer.alloc(length), 0, length, 8);
    const tensors = JSON.parse(header.buffer.toString('utf8')) as Record<string, { shape?: number[] }>;
    return Object.values(tensors).reduce(
      (sum, { shape }) =>
        sum + (shape === undefined ? 0 : shape.reduce((product, size) => product * size, 1)),
      0,
    );
  } finally {
    await file.close();
  }
}
