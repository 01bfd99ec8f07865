import { readModelJson } from './model-file.ts';

/** The files that can refer to custom Python code (trainer/model/check.py has the same list). */
const codeFiles = [
  'config.json',
  'tokenizer_config.json',
  'processor_config.json',
  'preprocessor_config.json',
  'generation_config.json',
] as const;

/** Whether such a file refers to custom code. */
export const namesCode = (content: unknown): boolean =>
  typeof content === 'object' && content !== null && Boolean((content as { auto_map?: unknown }).auto_map);

/** The files of a folder that refer to custom code. */
export async function filesWithCode(folder: string): Promise<string[]> {
  const naming = await Promise.all(
    codeFiles.map(async (name) => {
      try {
        return namesCode(await readModelJson(folder, name));
      } catch {
        return false;
      }
    }),
  );
  return codeFiles.filter((_, index) => naming[index]);
}

/** The error for a model with custom code. */
export const codeRefusal = (model: string, files: readonly string[]): string =>
  `${model} brings its own Python code (auto_map in ${files.join(' and ')}), which Hone never runs. Choose a model with an architecture that transformers supports`;
