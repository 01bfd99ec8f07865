import { join } from 'node:path';
import * as v from 'valibot';
import { askTrainer } from './ask.ts';
import type { TrainerCommand } from './processes/supervisor.ts';

const prepared = v.object({ adapter: v.nullable(v.string()), base: v.nullable(v.string()) });

/** The name of an adapter's GGUF in a checkpoint's folder. */
export const checkpointAdapterName = 'adapter.gguf';
/** The file of a model's folder, and of a job's, that says what its base is (docs/job-folder.md). */
export const baseNoteName = 'base.json';

/**
 * Asks the trainer for the adapter of a checkpoint as a GGUF, and for its base model's in `basesDir`; `null` for either
 * leaves it out. What is there is not made again.
 * @returns the paths of both; they are complete.
 * @throws AppError as `askTrainer` does.
 */
export function prepareCheckpoint(
  command: TrainerCommand,
  folder: string,
  options: {
    step: number | null;
    templatePath: string;
    basesDir: string | null;
    /** The name that the base's file must get. */
    named?: string;
    signal: AbortSignal;
    /** Hears how much of the files is made, 0 to 1. */
    onProgress?: (share: number) => void;
  },
): Promise<v.InferOutput<typeof prepared>> {
  const { step, templatePath, basesDir, named, signal, onProgress } = options;
  return askTrainer(command, {
    what: 'checkpoint',
    args: [
      ...['checkpoint', join(folder, 'spec.json'), '--template', templatePath],
      ...(step === null ? [] : ['--step', String(step)]),
      ...(basesDir === null ? [] : ['--bases', basesDir]),
      ...(named === undefined ? [] : ['--named', named]),
    ],
    answer: prepared,
    folder,
    secrets: null,
    timeoutMs: null,
    signal,
    onProgress,
  });
}

/** What a model's folder and a job's say of their base, in the file `baseNoteName`. */
export const baseNote = v.object({
  /** Equal for models that were trained on the same files, whatever the type of their GGUF. */
  base: v.pipe(v.string(), v.minLength(1)),
  /** The name of the base's GGUF: equal names are equal content. */
  file: v.pipe(v.string(), v.regex(/^[\w-]+\.gguf$/)),
});

/**
 * Asks the trainer what the base of a job is, whose training ended before that was recorded.
 * @throws AppError as `askTrainer` does; `invalid` if the base model was changed or deleted since.
 */
export function askBase(
  command: TrainerCommand,
  folder: string,
  options: { templatePath: string; trainedAt: Date; signal: AbortSignal },
): Promise<v.InferOutput<typeof baseNote>> {
  const { templatePath, trainedAt, signal } = options;
  return askTrainer(command, {
    what: 'base model',
    args: [
      ...['base', join(folder, 'spec.json'), '--template', templatePath],
      ...['--trained', String(trainedAt.getTime() / 1000)],
    ],
    answer: baseNote,
    folder,
    secrets: null,
    timeoutMs: null,
    signal,
  });
}
