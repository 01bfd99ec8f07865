import { writeFileSync } from 'node:fs';

/** GGUF's numbers for the kinds of values that are written here. */
const kind = { uint32: 4, int32: 5, float32: 6, string: 8, array: 9 } as const;

interface Shape {
  readonly width?: number;
  readonly layers?: number;
  readonly feedForward?: number;
  /** The most tokens of the context. */
  readonly context?: number;
  /**
   * The likely token after each, a permutation: at temperature 1 about 85 of 100 tokens are these, and the most likely
   * one always is. Without it, weights are random.
   */
  readonly next?: (token: number) => number;
}

/**
 * Writes a random-weight Llama of 32-bit floats as GGUF: byte-level SentencePiece vocabulary, widths divisible
 * by 256 as the k-quantizations want them. The default is 1.4 million parameters, 5.8 MB.
 */
export function writeTinyGguf(
  file: string,
  { width = 256, layers = 2, feedForward = 512, context = 128, next }: Shape = {},
): void {
  const tokens = ['<unk>', '<s>', '</s>'];
  for (let byte = 0; byte < 256; byte += 1)
    tokens.push(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
  tokens.push('▁a', 'b');
  const tokenTypes = tokens.map((_, i) => (i === 0 ? 2 : i < 3 ? 3 : i < 259 ? 6 : 1));

  const entries: Buffer[] = [];
  const add = (key: string, type: number, value: Buffer) => entries.push(text(key), u32(type), value);
  const addNumber = (key: string, value: number) => add(key, kind.uint32, u32(value));
  const addList = (key: string, type: number, items: Buffer[]) =>
    add(key, kind.array, Buffer.concat([u32(type), u64(items.length), ...items]));
  add('general.architecture', kind.string, text('llama'));
  add('general.name', kind.string, text('tiny'));
  addNumber('llama.context_length', context);
  addNumber('llama.embedding_length', width);
  addNumber('llama.block_count', layers);
  addNumber('llama.feed_forward_length', feedForward);
  addNumber('llama.attention.head_count', 4);
  addNumber('llama.rope.dimension_count', width / 4);
  add('llama.attention.layer_norm_rms_epsilon', kind.float32, f32(1e-5));
  add('tokenizer.ggml.model', kind.string, text('llama'));
  addList('tokenizer.ggml.tokens', kind.string, tokens.map(text));
  addList(
    'tokenizer.ggml.scores',
    kind.float32,
    tokens.map(() => f32(0)),
  );
  addList('tokenizer.ggml.token_type', kind.int32, tokenTypes.map(u32));
  addNumber('tokenizer.ggml.bos_token_id', 1);
  addNumber('tokenizer.ggml.eos_token_id', 2);

  const tensors: { name: string; shape: number[] }[] = [
    { name: 'token_embd.weight', shape: [width, tokens.length] },
    { name: 'output.weight', shape: [width, tokens.length] },
    { name: 'output_norm.weight', shape: [width] },
  ];
  for (let i = 0; i < layers; i += 1) {
    const weight = (name: string, ...shape: number[]) =>
      tensors.push({ name: `blk.${i}.${name}.weight`, shape });
    weight('attn_norm', width);
    weight('ffn_norm', width);
    for (const name of ['attn_q', 'attn_k', 'attn_v', 'attn_output']) weight(name, width, width);
    weight('ffn_gate', width, feedForward);
    weight('ffn_up', width, feedForward);
    weight('ffn_down', feedForward, width);
  }

  const infos: Buffer[] = [];
  const data: Buffer[] = [];
  let offset = 0;
  for (const { name, shape } of tensors) {
    infos.push(text(name), u32(shape.length), ...shape.map(u64), u32(0), u64(offset));
    let values = weights(
      shape.reduce((a, b) => a * b, 1),
      shape.length === 1,
    );
    if (next !== undefined) values = following(name, values, width, next);
    data.push(values);
    offset += values.length; // a multiple of 32 already, GGUF's alignment
  }
  const header = Buffer.concat([
    Buffer.from('GGUF'),
    u32(3),
    u64(tensors.length),
    u64(entries.length / 3),
    ...entries,
    ...infos,
  ]);
  writeFileSync(file, Buffer.concat([header, Buffer.alloc((32 - (header.length % 32)) % 32), ...data]));
}

/** Norms are ones, all else small pseudo-random numbers, the same in every run. */
function weights(count: number, isNorm: boolean): Buffer {
  const values = new Float32Array(count);
  let seed = 12345 + count;
  for (let i = 0; i < count; i += 1) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    values[i] = isNorm ? 1 : (seed / 2 ** 32 - 0.5) * 0.1;
  }
  return Buffer.from(values.buffer);
}

/**
 * The weights with which each token is followed by `next`: an embedding outweighs what the layers add to it, and is the
 * output's row of the next token.
 */
function following(name: string, weights: Buffer, width: number, next: (token: number) => number): Buffer {
  const values = new Float32Array(weights.buffer);
  if (name === 'token_embd.weight') return Buffer.from(values.map((value) => value * 100).buffer);
  if (name !== 'output.weight') return weights;
  const rows = new Float32Array(values.length);
  for (let token = 0; token < values.length / width; token += 1)
    rows.set(values.subarray(token * width, (token + 1) * width), next(token) * width);
  return Buffer.from(rows.buffer);
}

function u32(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeUInt32LE(value);
  return buffer;
}

function u64(value: number): Buffer {
  const buffer = Buffer.alloc(8);
  buffer.writeBigUInt64LE(BigInt(value));
  return buffer;
}

function f32(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeFloatLE(value);
  return buffer;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([u64(bytes.length), bytes]);
}
