import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../../errors.ts';
import { isFromHub } from '../../trainer/merged-folder.ts';
import { type Asking, type Lengths, measureRows, type Preview, previewRows } from '../../trainer/preview.ts';
import { downloadSecrets, type TrainerCommand } from '../../trainer/processes/supervisor.ts';
import type { JobSpec } from '../../trainer/protocol.ts';
import { datasetPart } from '../datasets/splitting/dataset-part.ts';
import { writeSpec } from './job-spec.ts';
import { type JudgedRequest, type Judges, judgeRequest } from './judge-request.ts';
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
  /**
   * The tokens of a dataset's rows, or of as many as `sampledRows` drawn at random.
   * @throws AppError as `preview` does.
   */
  lengths(request: TrainingRequest, signal: AbortSignal): Promise<Lengths & { readonly sampledRows: number }>;
}

/** Tokens are counted in at most so many rows, which takes some seconds. */
export const sampledRows = 20_000;
/** The same rows are drawn each time. */
const sampleSeed = 42;

export function createPreviewer(options: {
  readonly judges: Judges;
  readonly command: TrainerCommand;
  readonly tools: JobSpec['tools'];
  readonly jobsDir: string;
  readonly hub: { readonly token: string | null };
  readonly timeoutMs: number;
}): Previewer {
  const { command } = options;
  // One at a time, because each preview is a Python process that loads a tokenizer.
  let turn: Promise<unknown> = Promise.resolve();
  return {
    preview(request, rows, signal) {
      return inTurn(() =>
        ask(request, signal, (folder, asking) => previewRows(command, folder, rows, asking)),
      );
    },
    lengths(request, signal) {
      return inTurn(() =>
        ask(request, signal, async (folder, asking, { data }) => {
          const count = Math.min(data.numExamples, sampledRows);
          if (count < data.numExamples)
            await sampleRows(join(folder, 'dataset.jsonl'), data.numExamples, count);
          return { ...(await measureRows(command, folder, asking)), sampledRows: count };
        }),
      );
    },
  };

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = turn.then(work);
    turn = mine.catch(() => undefined);
    return mine;
  }

  /** Prepares the folder of a job for a question to the trainer. */
  async function ask<T>(
    request: TrainingRequest,
    signal: AbortSignal,
    question: (folder: string, asking: Asking, judged: JudgedRequest) => Promise<T>,
  ): Promise<T> {
    if (signal.aborted) throw new AppError('invalid', 'The client disconnected before the preview was made.');
    const judged = await judgeRequest({ ...request, export: 'none' }, options.judges);
    const name = `preview-${randomUUID()}`;
    const folder = join(options.jobsDir, `.${name}`);
    try {
      await writeSpec(judged, { name, folder, logsDir: null, tools: options.tools });
      const secrets = isFromHub(judged.base) ? downloadSecrets(command, options.hub.token) : null;
      return await question(folder, { secrets, timeoutMs: options.timeoutMs, signal }, judged);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

/** Replaces a file of rows by some of them, drawn at random. */
async function sampleRows(path: string, rows: number, count: number): Promise<void> {
  const aside = `${path}.sample`;
  const sample = datasetPart(path, { rows, heldOut: count, seed: sampleSeed, part: 'validation' });
  await pipeline(sample, createWriteStream(aside));
  await rename(aside, path);
}
