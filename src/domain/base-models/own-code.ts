import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readModelJson } from './files/model-file.ts';

/** The files that can refer to Python code for what training loads (trainer/model/check.py). */
const codeFiles = ['config.json', 'tokenizer_config.json'] as const;

/** Whether such a file refers to custom code. */
export const namesCode = (content: unknown): boolean =>
  typeof content === 'object' && content !== null && Boolean((content as { auto_map?: unknown }).auto_map);

/** The files of a folder that refer to custom code. A tokenizer.json needs none, whatever is said beside it. */
export async function filesWithCode(folder: string): Promise<string[]> {
  const reads = async (name: string) => readModelJson(folder, name).catch(() => null);
  const naming = await Promise.all(codeFiles.map(async (name) => namesCode(await reads(name))));
  const hasTokenizer = existsSync(join(folder, 'tokenizer.json'));
  return codeFiles.filter((name, index) => naming[index] && !(hasTokenizer && name !== 'config.json'));
}

/** The error for a model with custom code. */
export const codeRefusal = (model: string, files: readonly string[]): string =>
  `${model} brings its own Python code (auto_map in ${files.join(' and ')}), which Hone never runs. Choose a model with an architecture that transformers supports`;
