import { join } from 'node:path';
import * as v from 'valibot';
import { askTrainer } from './ask.ts';
import type { TrainerCommand } from './supervisor.ts';

const prepared = v.object({ adapter: v.string(), base: v.nullable(v.string()) });

/** The name of an adapter's GGUF in a checkpoint's folder. */
export const checkpointAdapterName = 'adapter.gguf';
/** The name of the base model's GGUF in a job folder. */
export const baseGgufName = 'base.gguf';

/**
 * Asks the trainer for the adapter of a checkpoint as a GGUF, and with `withBase` for the base model's.
 * @returns the paths of both; they are complete.
 * @throws AppError as `askTrainer` does.
 */
export function prepareCheckpoint(
  command: TrainerCommand,
  folder: string,
  options: { step: number; templatePath: string; withBase: boolean; signal: AbortSignal },
): Promise<v.InferOutput<typeof prepared>> {
  const { step, templatePath, withBase, signal } = options;
  return askTrainer(command, {
    what: 'checkpoint',
    args: [
      ...['checkpoint', join(folder, 'spec.json'), '--step', String(step), '--template', templatePath],
      ...(withBase ? ['--with-base'] : []),
    ],
    answer: prepared,
    folder,
    secrets: null,
    timeoutMs: null,
    signal,
  });
}
