import { basename, dirname } from 'node:path';
import { ggufArchitectures } from '../../../contract/models/gguf-bases.ts';
import { ggufParts } from '../../../contract/models/gguf-parts.ts';
import { asAppError } from '../../../errors.ts';
import { refusalOf } from '../../../faults.ts';
import { type GgufFile, readSplitGguf } from '../../../inference/gguf/gguf.ts';
import { modelFile } from '../files/model-file.ts';
import type { ModelShape } from '../model-shape.ts';
import { type ModelKind, unknownKind } from './gguf-verdict.ts';

/** Ollama's names of files. */
const blobName = /^sha256-[0-9a-f]{64}$/;

/** Kinds of vocabularies that are made into a tokenizer (trainer/gguf_base/tokenizer.py). */
const vocabularies: ReadonlySet<string> = new Set(['gpt2', 'llama', 'gemma4']);

/** Whether a path names a GGUF file rather than a model's folder. */
export const isGgufPath = (path: string): boolean =>
  path.toLowerCase().endsWith('.gguf') || blobName.test(basename(path));

/** Why the model in a GGUF file cannot be a base, as far as its header tells; `null` if it can. */
export function whyNoBase({ architecture, tokenizerModel, numbers }: GgufFile): string | null {
  if (!Object.hasOwn(ggufArchitectures, architecture)) {
    const known = Object.keys(ggufArchitectures).join(', ');
    return `a GGUF of the architecture ${architecture} cannot be a base model; those of ${known} can`;
  }
  // Mixtral, which llama.cpp runs as Llama.
  if (architecture === 'llama' && (numbers.get('expert_count') ?? 0) > 0)
    return 'it is a Llama with experts (Mixtral), which cannot be a base model';
  if (!vocabularies.has(tokenizerModel))
    return `its kind of vocabulary, ${tokenizerModel}, cannot be made into a tokenizer`;
  return null;
}

/**
 * Checks a GGUF file before a job is created.
 * @throws AppError `invalid` if it cannot be a base model.
 */
export async function checkGgufBase(path: string): Promise<ModelKind> {
  const file = await readBase(path);
  const why = whyNoBase(file);
  if (why !== null) throw refusalOf('model_name', `${basename(path)} cannot be trained: ${why}`);
  return ggufKind(file);
}

/** The class of transformers for a GGUF's model. Its own quantization does not count: weights are read in 16 bits. */
export function ggufKind({ architecture }: GgufFile): ModelKind {
  const known = ggufArchitectures[architecture as keyof typeof ggufArchitectures];
  const name = known?.className ?? architecture;
  return { ...unknownKind, architecture: name, converted: name, modelType: known?.modelType ?? null };
}

/** The sizes of a GGUF's model. */
export function ggufShape({ parameters, numbers, tokens }: GgufFile): ModelShape | null {
  const [layers, hidden] = [numbers.get('block_count'), numbers.get('embedding_length')];
  if (layers === undefined || hidden === undefined) return null;
  const heads = numbers.get('attention.head_count') ?? 1;
  const headWidth = numbers.get('attention.key_length') ?? hidden / heads;
  return {
    parameters,
    layers,
    hidden,
    vocabulary: tokens.length,
    intermediate: numbers.get('feed_forward_length') ?? 4 * hidden,
    keyValue: (numbers.get('attention.head_count_kv') ?? heads) * headWidth,
  };
}

/** Reads the header of a file that a request names, of a split one with those of all its parts. @throws AppError `invalid`. */
export async function readBase(path: string): Promise<GgufFile> {
  const [first, ...others] = ggufParts(path);
  if (first !== path)
    throw refusalOf('model_name', `${basename(path)} is a part of a split file: name its first, ${first}`);
  const real = async (part: string) =>
    modelFile(dirname(part), basename(part)).catch((error: NodeJS.ErrnoException) => {
      const why = error.code === undefined ? `: ${error.message}` : ' does not exist';
      const needed = others.length > 0 ? `, and all ${others.length + 1} parts of the model are needed` : '';
      throw refusalOf('model_name', `The file ${part}${why}${needed}`);
    });
  const [file = '', ...rest] = await Promise.all([first, ...others].map(real));
  try {
    return await readSplitGguf(file, rest);
  } catch (error) {
    throw refusalOf('model_name', asAppError(error).message.replace(/\.$/, ''));
  }
}
