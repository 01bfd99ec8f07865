import { open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { ggufParts } from '../../contract/models/gguf-parts.ts';
import { AppError } from '../../errors.ts';
import { GgufReader, readValue, type Value } from './gguf-reader.ts';

/** The parts of a GGUF that the playground needs, read without llama.cpp and checked against the file size. */
export interface GgufFile {
  architecture: string;
  /** The context length that the model was trained with, in tokens; null if the file does not say. */
  contextLength: number | null;
  /** The tokenizer: llama.cpp's `tokenizer.ggml.model` and `.pre`. */
  tokenizerModel: string;
  tokenizerPre: string;
  tokens: string[];
  /** llama.cpp's token types: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte. */
  tokenTypes: number[];
  tensorCount: number;
  /** How many files the model has; the others of a split one have only tensors. */
  parts: number;
  /** Which of them this is, from 0. */
  part: number;
  /** The number of weights. */
  parameters: number;
  /** The numbers among the architecture's parameters, such as `block_count`. */
  numbers: ReadonlyMap<string, number>;
  /** llama.cpp's number of the file's type (`LLAMA_FTYPE_MOSTLY_…`); null if the file does not say. */
  fileType: number | null;
  /** The most bytes that a context keeps for each token, at 16 bits. */
  cacheBytesPerToken: number;
}

/** Block size in elements and bytes, by ggml tensor type (ggml-common.h). */
const tensorTypes = new Map<number, readonly [elements: number, bytes: number]>([
  [0, [1, 4]], // F32
  [1, [1, 2]], // F16
  [2, [32, 18]], // Q4_0
  [3, [32, 20]], // Q4_1
  [6, [32, 22]], // Q5_0
  [7, [32, 24]], // Q5_1
  [8, [32, 34]], // Q8_0
  [9, [32, 36]], // Q8_1
  [10, [256, 84]], // Q2_K
  [11, [256, 110]], // Q3_K
  [12, [256, 144]], // Q4_K
  [13, [256, 176]], // Q5_K
  [14, [256, 210]], // Q6_K
  [15, [256, 292]], // Q8_K
  [16, [256, 66]], // IQ2_XXS
  [17, [256, 74]], // IQ2_XS
  [18, [256, 98]], // IQ3_XXS
  [19, [256, 50]], // IQ1_S
  [20, [32, 18]], // IQ4_NL
  [21, [256, 110]], // IQ3_S
  [22, [256, 82]], // IQ2_S
  [23, [256, 136]], // IQ4_XS
  [24, [1, 1]], // I8
  [25, [1, 2]], // I16
  [26, [1, 4]], // I32
  [27, [1, 8]], // I64
  [28, [1, 8]], // F64
  [29, [256, 56]], // IQ1_M
  [30, [1, 2]], // BF16
  [34, [256, 54]], // TQ1_0
  [35, [256, 66]], // TQ2_0
  [39, [32, 17]], // MXFP4
  [40, [64, 36]], // NVFP4
  [41, [128, 18]], // Q1_0
  [42, [64, 18]], // Q2_0
]);

/** Architectures that cannot generate text: encoders, encoder-decoders, diffusion, audio. */
const cannotGenerate = new Set([
  't5',
  't5encoder',
  'bert',
  'modern-bert',
  'neo-bert',
  'nomic-bert',
  'nomic-bert-moe',
  'jina-bert-v2',
  'jina-bert-v3',
  'eurobert',
  'gemma-embedding',
  'llama-embed',
  'wavtokenizer-dec',
  'dream',
  'llada',
  'llada-moe',
  'clip',
]);

/** Upper limit for a header; the largest vocabularies need about 20 MB. */
const maxHeaderBytes = 256 * 2 ** 20;
const maxEntries = 1_000_000;
/** llama.cpp's own limit is 512 (LLAMA_MAX_LAYERS). */
const maxBlocks = 10_000;

/** Weights whose outputs a context keeps for each token, and those of which it keeps at most two thirds. */
const cachedOutputs = /^blk\.\d+\.attn_(k|v|kv_a_mqa)\.weight$/;
const partlyCached = /^blk\.\d+\.attn_qkv\.weight$/;

const isPowerOfTwo = (value: number) => Number.isInteger(Math.log2(value));

/** @param isFurther whether it is a further part of a split file, which has no architecture and no vocabulary. */
function parse(reader: GgufReader, fileBytes: number, isFurther: boolean): GgufFile {
  if (reader.bytes(4).toString('latin1') !== 'GGUF') throw new RangeError('it does not start with GGUF');
  const version = reader.u32();
  if (version !== 2 && version !== 3) throw new RangeError(`it has the unknown version ${version}`);
  const tensorCount = reader.u64();
  const entryCount = reader.u64();
  if (tensorCount > maxEntries || entryCount > maxEntries) {
    throw new RangeError(`it claims ${tensorCount} tensors and ${entryCount} entries`);
  }
  const metadata = new Map<string, Value>();
  for (let i = 0; i < entryCount; i++) {
    const key = reader.string();
    if (metadata.has(key)) throw new RangeError(`the key ${key.slice(0, 64)} appears twice`);
    const kept = key === 'tokenizer.ggml.tokens' || key === 'tokenizer.ggml.token_type';
    metadata.set(key, readValue(reader, reader.u32(), kept));
  }
  const [parts, part] = ['split.count', 'split.no'].map((key) => metadata.get(key));
  // The first part of a split file may have none.
  if (tensorCount === 0 && !(Number(parts) > 1))
    throw new RangeError(`it claims 0 tensors and ${entryCount} entries`);
  const alignment = metadata.get('general.alignment') ?? 32;
  if (typeof alignment !== 'number' || alignment < 8 || alignment > 2 ** 20 || !isPowerOfTwo(alignment)) {
    throw new RangeError('its alignment is invalid');
  }
  const spans: { name: string; offset: number; bytes: number }[] = [];
  const names = new Set<string>();
  let cachedValues = 0;
  let parameters = 0;
  for (let i = 0; i < tensorCount; i++) {
    const name = reader.string();
    if (name.length > 63 || names.has(name))
      throw new RangeError(`the tensor name ${name.slice(0, 64)} is invalid`);
    names.add(name);
    const dimensions = reader.u32();
    if (dimensions < 1 || dimensions > 4) throw new RangeError(`${name} has ${dimensions} dimensions`);
    let elements = 1;
    let row = 0;
    for (let d = 0; d < dimensions; d++) {
      const size = reader.u64();
      if (d === 0) row = size;
      elements *= size;
    }
    if (!(elements > 0) || !Number.isSafeInteger(elements)) throw new RangeError(`${name} has no size`);
    parameters += elements;
    if (cachedOutputs.test(name)) cachedValues += elements / row;
    if (partlyCached.test(name)) cachedValues += (elements / row) * (2 / 3);
    const type = reader.u32();
    const layout = tensorTypes.get(type);
    if (layout === undefined) throw new RangeError(`${name} has the unknown type ${type}`);
    if (row % layout[0] !== 0) throw new RangeError(`${name} has a row length that its type does not allow`);
    const offset = reader.u64();
    if (offset % alignment !== 0) throw new RangeError(`${name} is not aligned`);
    spans.push({ name, offset, bytes: (elements / layout[0]) * layout[1] });
  }
  const dataStart = Math.ceil(reader.position / alignment) * alignment;
  for (const { name, offset, bytes } of spans) {
    if (dataStart + offset + bytes > fileBytes)
      throw new RangeError(`${name} extends past the end of the file`);
  }
  const text = (key: string): string => {
    const value = metadata.get(key);
    return typeof value === 'string' ? value : '';
  };
  const list = <T>(key: string): T[] => {
    const value = metadata.get(key);
    return Array.isArray(value) ? (value as T[]) : [];
  };
  const architecture = text('general.architecture');
  if (architecture === '' && !isFurther) throw new RangeError('it specifies no architecture');
  const blocks = metadata.get(`${architecture}.block_count`);
  // llama.cpp aborts on some of these.
  if (typeof blocks === 'number' && !(blocks >= 1 && blocks <= maxBlocks)) {
    throw new RangeError(`it claims ${blocks} layers`);
  }
  const fileType = metadata.get('general.file_type');
  const numbers = new Map<string, number>();
  for (const [key, value] of metadata) {
    if (key.startsWith(`${architecture}.`) && typeof value === 'number')
      numbers.set(key.slice(architecture.length + 1), value);
  }
  const contextLength = metadata.get(`${architecture}.context_length`);
  return {
    architecture,
    contextLength: typeof contextLength === 'number' && contextLength > 0 ? contextLength : null,
    tokenizerModel: text('tokenizer.ggml.model'),
    tokenizerPre: text('tokenizer.ggml.pre'),
    tokens: list<string>('tokenizer.ggml.tokens'),
    tokenTypes: list<number>('tokenizer.ggml.token_type'),
    tensorCount,
    parts: typeof parts === 'number' && parts > 1 ? parts : 1,
    part: typeof part === 'number' ? part : 0,
    parameters,
    numbers,
    fileType: typeof fileType === 'number' ? fileType : null,
    cacheBytesPerToken: 2 * Math.ceil(cachedValues),
  };
}

/**
 * Reads and checks the header of a GGUF: magic, version, and every size and offset against the file length.
 *
 * @throws AppError `invalid` when it is not a GGUF, is damaged or truncated, or cannot generate text;
 * `not_found` when there is no such file
 */
export const readGguf = (path: string): Promise<GgufFile> => read(path, false);

/**
 * Reads the headers of a split model's files, the first and the others, as that of one. @throws AppError `invalid`, as
 * `readGguf`, and when they do not belong together.
 */
export async function readSplitGguf(first: string, others: readonly string[]): Promise<GgufFile> {
  const whole = await readGguf(first);
  if (others.length === 0 && whole.parts > 1) {
    throw new AppError(
      'invalid',
      `${basename(first)} is the first of ${whole.parts} parts of a split file, and its name does not say where the others are.`,
    );
  }
  const found = [whole, ...(await Promise.all(others.map((path) => read(path, true))))];
  const at = found.findIndex(({ part, parts }, index) => part !== index || parts !== found.length);
  if (at >= 0) {
    const name = basename([first, ...others][at] as string);
    throw new AppError('invalid', `${name} is not part ${at + 1} of ${found.length} of its model.`);
  }
  const sum = (of: (file: GgufFile) => number) => found.reduce((total, file) => total + of(file), 0);
  return {
    ...whole,
    tensorCount: sum(({ tensorCount }) => tensorCount),
    parameters: sum(({ parameters }) => parameters),
    cacheBytesPerToken: sum(({ cacheBytesPerToken }) => cacheBytesPerToken),
  };
}

/** Reads the header of a model's file, of a split one with those of all its parts. @throws AppError as `readSplitGguf`. */
export function readWholeGguf(path: string): Promise<GgufFile> {
  const [first, ...others] = ggufParts(path);
  return readSplitGguf(first, others);
}

/** The size of a model's file, of a split one of all its parts. */
export async function ggufBytes(path: string): Promise<number> {
  const facts = await Promise.all(ggufParts(path).map((part) => stat(part)));
  return facts.reduce((sum, { size }) => sum + size, 0);
}

async function read(path: string, isFurther: boolean): Promise<GgufFile> {
  const file = await open(path, 'r').catch((cause: NodeJS.ErrnoException) => {
    throw cause.code === 'ENOENT'
      ? new AppError('not_found', `The model file ${basename(path)} does not exist.`, { cause })
      : new AppError('invalid', `The model file ${basename(path)} cannot be opened (${cause.code}).`, {
          cause,
        });
  });
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new AppError('invalid', `The model file ${basename(path)} is not a file.`);
    const { size } = stats;
    let wanted = Math.min(size, 4 * 2 ** 20);
    for (;;) {
      const buffer = Buffer.alloc(wanted);
      let filled = 0;
      while (filled < wanted) {
        const { bytesRead } = await file.read(buffer, filled, wanted - filled, filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      try {
        const parsed = parse(new GgufReader(buffer.subarray(0, filled)), size, isFurther);
        if (cannotGenerate.has(parsed.architecture)) {
          throw new AppError(
            'invalid',
            `The model file has the architecture ${parsed.architecture}, which llama.cpp cannot use for text generation.`,
          );
        }
        if (parsed.tokens.length === 0 && !isFurther) throw new RangeError('it has no vocabulary');
        return parsed;
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        // the header may extend past what has been read so far
        if (wanted < Math.min(size, maxHeaderBytes) && error.message === 'the file ends too early') {
          wanted = Math.min(size, maxHeaderBytes, wanted * 4);
          continue;
        }
        throw new AppError(
          'invalid',
          `The model file ${basename(path)} is damaged or not a GGUF file: ${error.message}.`,
          {
            cause: error,
          },
        );
      }
    }
  } finally {
    await file.close();
  }
}
