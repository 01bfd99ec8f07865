import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Preview, previewRows } from '../trainer/preview.ts';
import type { JobSpec } from '../trainer/protocol.ts';
import type { TrainerCommand } from '../trainer/supervisor.ts';
import { type Judges, judgeRequest, writeSpec } from './job-spec.ts';
import type { TrainingRequest } from './training-request.ts';

export { preview } from '../trainer/preview.ts';

/** Shows what a model would be trained on. */
export interface Previewer {
  /** The first `rows` rows as tokens, by the code that training uses. @throws AppError as a start does. */
  preview(request: TrainingRequest, rows: number): Promise<Preview>;
}

export function createPreviewer(
  options: Judges & {
    readonly command: TrainerCommand;
    readonly tools: JobSpec['tools'];
    readonly jobsDir: string;
    readonly hubToken: string | null;
  },
): Previewer {
  // One at a time: each is a Python process with a tokenizer of its own.
  let turn: Promise<unknown> = Promise.resolve();
  return {
    preview(request, rows) {
      const mine = turn.then(() => show(request, rows));
      turn = mine.catch(() => undefined);
      return mine;
    },
  };

  async function show(request: TrainingRequest, rows: number): Promise<Preview> {
    const judged = await judgeRequest({ ...request, export: 'none' }, options);
    const name = `preview-${randomUUID()}`;
    const folder = join(options.jobsDir, `.${name}`);
    try {
      await writeSpec(judged, { name, folder, logsDir: null, tools: options.tools });
      return await previewRows(
        options.command,
        folder,
        rows,
        judged.base.path === null ? options.hubToken : null,
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}
