import * as v from 'valibot';
import { askTrainer, type ProgressBytes } from './ask.ts';
import type { TrainerCommand } from './processes/supervisor.ts';

const downloaded = v.object({ path: v.string() });

/**
 * Downloads a model to the hub cache, in a process of its own. One that is cancelled is continued by the next.
 * @param options.secrets those of a download (`downloadSecrets`).
 * @param options.onProgress hears the share that is here, 0 to 1, and the bytes.
 * @throws AppError as `askTrainer` does.
 */
export async function downloadModel(
  command: TrainerCommand,
  model: string,
  options: {
    readonly secrets: Record<string, string> | null;
    readonly signal: AbortSignal;
    readonly onProgress: (share: number, bytes: ProgressBytes | null) => void;
  },
): Promise<void> {
  await askTrainer(command, {
    what: 'download',
    args: ['download', model],
    answer: downloaded,
    folder: command.installDir,
    timeoutMs: null,
    ...options,
  });
}
