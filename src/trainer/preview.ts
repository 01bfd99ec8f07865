import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as v from 'valibot';
import { AppError } from '../errors.ts';
import { type TrainerCommand, trainerEnvironment } from './supervisor.ts';

const run = promisify(execFile);

/** What `python -m trainer preview` prints. */
export const preview = v.object({
  max_seq_length: v.number(),
  template_source: v.string(),
  rows: v.array(
    v.object({
      /** The first 4,096. */
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
 * Asks the trainer how it would tokenize the first rows of a prepared job folder.
 * @param options.secrets those of a download (`downloadSecrets`), if the model may have to be downloaded.
 * @param options.signal kills the trainer process when aborted.
 * @throws AppError `invalid` with the trainer's reason, or when `signal` is aborted; `unavailable` when it
 * takes longer than `timeoutMs`.
 */
export async function previewRows(
  command: TrainerCommand,
  folder: string,
  rows: number,
  options: { secrets: Record<string, string> | null; timeoutMs: number; signal: AbortSignal },
): Promise<Preview> {
  const { secrets, timeoutMs, signal } = options;
  const args = ['-m', 'trainer', 'preview', join(folder, 'spec.json'), '--rows', String(rows)];
  // Killed explicitly: with execFile's own `signal`, the child sometimes kept running after an abort (Node 20.20).
  const end = () => void running.child.kill('SIGKILL');
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    end();
  }, timeoutMs);
  const running = run(command.pythonPath, args, {
    cwd: folder,
    env: trainerEnvironment(command, secrets),
    maxBuffer: 2 ** 27,
  });
  // SIGKILL is safe: the preview writes no files.
  if (signal.aborted) end();
  signal.addEventListener('abort', end);
  const answer = await running
    .catch((error) => error as { stdout?: string })
    .finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
    });
  if (signal.aborted) throw new AppError('invalid', 'The preview was cancelled.');
  if (late) {
    throw new AppError(
      'unavailable',
      `The preview timed out after ${timeoutMs / 1000} s. The machine or the model hub may be busy. Try again later or with fewer rows.`,
    );
  }
  const text = answer.stdout?.trim().split('\n').at(-1) ?? '';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new AppError(
      'internal',
      'The trainer returned no preview. Run "npm run doctor" to see what is missing.',
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
