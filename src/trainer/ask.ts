import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import * as v from 'valibot';
import { AppError } from '../errors.ts';
import { type TrainerCommand, trainerEnvironment } from './processes/supervisor.ts';

const run = promisify(execFile);

const failed = v.object({
  failed: v.looseObject({ code: v.string(), message: v.string(), advice: v.nullable(v.string()) }),
});

/** A question to the trainer: one of its verbs that prints JSON on its last line. */
export interface Question<S extends v.GenericSchema> {
  /** What is asked for, such as `preview`. */
  readonly what: string;
  readonly args: readonly string[];
  /** What is written to its standard input. */
  readonly input?: string;
  readonly answer: S;
  /** The job folder. */
  readonly folder: string;
  /** Those of a download (`downloadSecrets`), if the model may have to be downloaded. */
  readonly secrets: Record<string, string> | null;
  /** `null` for as long as it takes. */
  readonly timeoutMs: number | null;
  /** Kills the process when aborted. SIGKILL must be safe. */
  readonly signal: AbortSignal;
  /**
   * Hears how much is done, 0 to 1, and in bytes, with their total once it is known, where the verb prints it on lines of
   * their own.
   */
  readonly onProgress?: ((share: number, bytes: ProgressBytes | null) => void) | undefined;
}

/** How many bytes are done, and of how many. */
export type ProgressBytes = readonly [done: number, total: number | null];

const progress = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({
    progress: v.pipe(v.number(), v.minValue(0), v.maxValue(1)),
    bytes: v.optional(v.tuple([v.number(), v.nullable(v.number())])),
  }),
);

/**
 * Asks the trainer in a process of its own.
 * @throws AppError `invalid` with the trainer's reason and its failure code in `details.code`, or when `signal` is
 * aborted; `unavailable` when it takes longer than `timeoutMs`; `internal` without an answer.
 */
export async function askTrainer<S extends v.GenericSchema>(
  command: TrainerCommand,
  { what, args, input, answer: schema, folder, secrets, timeoutMs, signal, onProgress }: Question<S>,
): Promise<v.InferOutput<S>> {
  // Killed explicitly: with execFile's own `signal`, the child sometimes kept running after an abort (Node 20.20).
  const end = () => void running.child.kill('SIGKILL');
  let late = false;
  const timer =
    timeoutMs === null
      ? undefined
      : setTimeout(() => {
          late = true;
          end();
        }, timeoutMs);
  const running = run(command.pythonPath, ['-m', 'trainer', ...args], {
    cwd: folder,
    env: trainerEnvironment(command, secrets),
    maxBuffer: 2 ** 27,
  });
  let line = '';
  running.child.stdout?.on('data', (chunk: string) => {
    if (onProgress === undefined) return;
    const lines = (line + chunk).split('\n');
    line = lines.pop() ?? '';
    for (const told of lines) {
      const { success, output } = v.safeParse(progress, told);
      if (success) onProgress(output.progress, output.bytes ?? null);
    }
  });
  // A process that fails early does not read it.
  running.child.stdin?.on('error', () => undefined);
  running.child.stdin?.end(input);
  if (signal.aborted) end();
  signal.addEventListener('abort', end);
  const answer = await running
    .catch((error) => error as { stdout?: string })
    .finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
    });
  if (signal.aborted) throw new AppError('invalid', `The ${what} was cancelled.`);
  if (late) {
    throw new AppError(
      'unavailable',
      `The ${what} timed out after ${(timeoutMs as number) / 1000} s. The machine or the model hub may be busy. Try again later or with fewer rows.`,
    );
  }
  const text = answer.stdout?.trim().split('\n').at(-1) ?? '';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new AppError(
      'internal',
      `The trainer returned no ${what}. Run "npm run doctor" to see what is missing.`,
      { cause: error },
    );
  }
  const failure = v.safeParse(failed, value);
  if (failure.success) {
    const { code, message, advice } = failure.output.failed;
    throw new AppError('invalid', [message, advice].filter(Boolean).join(' '), { details: { code } });
  }
  return v.parse(schema, value);
}
