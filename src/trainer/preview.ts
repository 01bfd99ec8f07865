import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as v from 'valibot';
import { AppError } from '../errors.ts';
import { type TrainerCommand, trainerEnvironment } from './supervisor.ts';

const run = promisify(execFile);
const timeoutMs = 120_000;

/** What `python -m trainer preview` prints. */
export const preview = v.object({
  max_seq_length: v.number(),
  template_source: v.string(),
  rows: v.array(
    v.object({
      tokens: v.array(
        v.object({ id: v.number(), text: v.string(), labelled: v.boolean(), truncated: v.boolean() }),
      ),
      total_tokens: v.number(),
      labelled_tokens: v.number(),
    }),
  ),
});
export type Preview = v.InferOutput<typeof preview>;

const failed = v.object({
  failed: v.looseObject({ code: v.string(), message: v.string(), advice: v.nullable(v.string()) }),
});

/**
 * Asks the trainer what it would see of the first rows of a prepared job folder.
 * @throws AppError `invalid` with the trainer's own reason.
 */
export async function previewRows(
  command: TrainerCommand,
  folder: string,
  rows: number,
  hubToken: string | null,
): Promise<Preview> {
  const args = ['-m', 'trainer', 'preview', join(folder, 'spec.json'), '--rows', String(rows)];
  const env = trainerEnvironment(command, hubToken);
  const options = { cwd: folder, env, timeout: timeoutMs, maxBuffer: 2 ** 27 };
  const answer = await run(command.pythonPath, args, options).catch((error) => error as { stdout?: string });
  const text = answer.stdout?.trim().split('\n').at(-1) ?? '';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new AppError(
      'internal',
      'The trainer gave no preview. Run "npm run doctor" to see what is missing.',
      {
        cause: error,
      },
    );
  }
  const failure = v.safeParse(failed, value);
  if (failure.success) {
    const { message, advice } = failure.output.failed;
    throw new AppError('invalid', [message, advice].filter(Boolean).join(' '));
  }
  return v.parse(preview, value);
}
