import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../errors.ts';
import { type Preview, previewRows } from '../../trainer/preview.ts';
import type { JobSpec } from '../../trainer/protocol.ts';
import { downloadSecrets, type TrainerCommand } from '../../trainer/supervisor.ts';
import { writeSpec } from './job-spec.ts';
import { type Judges, judgeRequest } from './judge-request.ts';
import type { TrainingRequest } from './training-request.ts';

export { preview } from '../../trainer/preview.ts';

/** Shows how rows are tokenized for training. */
export interface Previewer {
  /**
   * The first `rows` rows as tokens, made by the code that training uses.
   * @param signal cancels the preview, in the queue or in its process.
   * @throws AppError as a start does, and `unavailable` when it times out.
   */
  preview(request: TrainingRequest, rows: number, signal: AbortSignal): Promise<Preview>;
}

export function createPreviewer(options: {
  readonly judges: Judges;
  readonly command: TrainerCommand;
  readonly tools: JobSpec['tools'];
  readonly jobsDir: string;
  readonly hubToken: string | null;
  readonly timeoutMs: number;
}): Previewer {
  // One at a time, because each preview is a Python process that loads a tokenizer.
  let turn: Promise<unknown> = Promise.resolve();
  return {
    preview(request, rows, signal) {
      const mine = turn.then(() => show(request, rows, signal));
      turn = mine.catch(() => undefined);
      return mine;
    },
  };

  async function show(request: TrainingRequest, rows: number, signal: AbortSignal): Promise<Preview> {
    if (signal.aborted) throw new AppError('invalid', 'The client disconnected before the preview was made.');
    const judged = await judgeRequest({ ...request, export: 'none' }, options.judges);
    const name = `preview-${randomUUID()}`;
    const folder = join(options.jobsDir, `.${name}`);
    try {
      await writeSpec(judged, { name, folder, logsDir: null, tools: options.tools });
      const { command, timeoutMs } = options;
      const secrets = judged.base.path === null ? downloadSecrets(command, options.hubToken) : null;
      return await previewRows(command, folder, rows, { secrets, timeoutMs, signal });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}
