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
  /** The tokens before a prefix, before a suffix and before what stands between them; none without them. */
  readonly infill?: readonly [number, number, number];
  /** The seed of an adapter that is merged into the weights; none without it. */
  readonly adapter?: number;
}

interface Tensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

/** The rank of an adapter, and which weights of each layer it changes. */
const rank = 4;
const adapted = /attn_q|ffn_down/;
/** Bytes, `<unk>`, `<s>`, `</s>` and two words. */
const vocabulary = 261;

/**
 * Writes a random-weight Llama of 32-bit floats as GGUF: byte-level SentencePiece vocabulary, widths divisible
 * by 256 as the k-quantizations want them. The default is 1.4 million parameters, 5.8 MB.
 */
export function writeTinyGguf(
  file: string,
  { width = 256, layers = 2, feedForward = 512, context = 128, next, infill, adapter }: Shape = {},
): void {
  const tokens = ['<unk>', '<s>', '</s>'];
  for (let byte = 0; byte < 256; byte += 1)
    tokens.push(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
  tokens.push('▁a', 'b');
  const tokenTypes = tokens.map((_, i) => (i === 0 ? 2 : i < 3 ? 3 : i < 259 ? 6 : 1));

  const entries: Buffer[] = [];
  const add = addTo(entries);
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
  for (const [index, token] of (infill ?? []).entries())
    addNumber(`tokenizer.ggml.fim_${['pre', 'suf', 'mid'][index]}_token_id`, token);

  const tensors = layoutOf(width, layers, feedForward).map(({ name, shape }, index): Tensor => {
    let values = weights(
      shape.reduce((a, b) => a * b, 1),
      shape.length === 1,
    );
    if (next !== undefined) values = following(name, values, width, next);
    if (adapter !== undefined && adapted.test(name)) addProduct(values, factorsOf(shape, adapter + index));
    return { name, shape, values };
  });
  writeGguf(file, entries, tensors);
}

/** Writes the adapter that `writeTinyGguf` merges for this seed, for the default shape. */
export function writeTinyAdapter(file: string, seed: number): void {
  const entries: Buffer[] = [];
  const add = addTo(entries);
  add('general.architecture', kind.string, text('llama'));
  add('general.type', kind.string, text('adapter'));
  add('adapter.type', kind.string, text('lora'));
  // The factors include the scale.
  add('adapter.lora.alpha', kind.float32, f32(0));
  const tensors = layoutOf(256, 2, 512).flatMap(({ name, shape }, index): Tensor[] => {
    if (!adapted.test(name)) return [];
    const { a, b } = factorsOf(shape, seed + index);
    const [from, to] = shape as [number, number];
    return [
      { name: `${name}.lora_a`, shape: [from, rank], values: a },
      { name: `${name}.lora_b`, shape: [rank, to], values: b },
    ];
  });
  writeGguf(file, entries, tensors);
}

function layoutOf(width: number, layers: number, feedForward: number): Pick<Tensor, 'name' | 'shape'>[] {
  const tensors = [
    { name: 'token_embd.weight', shape: [width, vocabulary] },
    { name: 'output.weight', shape: [width, vocabulary] },
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
  return tensors;
}

/** The factors of one weight's change, which is b·a. */
function factorsOf([from = 0, to = 0]: readonly number[], seed: number) {
  return { a: numbers(rank * from, seed, 0.5), b: numbers(to * rank, seed + 1000, 0.5) };
}

function addProduct(values: Float32Array, { a, b }: ReturnType<typeof factorsOf>): void {
  const from = a.length / rank;
  for (let index = 0; index < values.length; index += 1) {
    const [row, column] = [Math.floor(index / from), index % from];
    let sum = 0;
    for (let k = 0; k < rank; k += 1) sum += (b[row * rank + k] as number) * (a[k * from + column] as number);
    values[index] = (values[index] as number) + sum;
  }
}

const addTo = (entries: Buffer[]) => (key: string, type: number, value: Buffer) =>
  entries.push(text(key), u32(type), value);

function writeGguf(file: string, entries: readonly Buffer[], tensors: readonly Tensor[]): void {
  const infos: Buffer[] = [];
  const data: Buffer[] = [];
  let offset = 0;
  for (const { name, shape, values } of tensors) {
    infos.push(text(name), u32(shape.length), ...shape.map(u64), u32(0), u64(offset));
    data.push(Buffer.from(values.buffer));
    offset += values.byteLength; // a multiple of 32 already, GGUF's alignment
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
function weights(count: number, isNorm: boolean): Float32Array {
  return isNorm ? new Float32Array(count).fill(1) : numbers(count, 12345 + count, 0.1);
}

/** Pseudo-random numbers around 0. */
function numbers(count: number, first: number, span: number): Float32Array {
  const values = new Float32Array(count);
  let seed = first;
  for (let i = 0; i < count; i += 1) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    values[i] = (seed / 2 ** 32 - 0.5) * span;
  }
  return values;
}

/**
 * The weights with which each token is followed by `next`: an embedding outweighs what the layers add to it, and is the
 * output's row of the next token.
 */
function following(
  name: string,
  values: Float32Array,
  width: number,
  next: (token: number) => number,
): Float32Array {
  if (name === 'token_embd.weight') return values.map((value) => value * 100);
  if (name !== 'output.weight') return values;
  const rows = new Float32Array(values.length);
  for (let token = 0; token < values.length / width; token += 1)
    rows.set(values.subarray(token * width, (token + 1) * width), next(token) * width);
  return rows;
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
