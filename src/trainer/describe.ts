import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import * as v from 'valibot';
import { AppError } from '../errors.ts';
import { type TrainerCommand, trainerEnvironment } from './processes/supervisor.ts';
import { type Description, description } from './protocol.ts';

const run = promisify(execFile);

/**
 * Asks the trainer which tasks, strategies and providers exist and how they can be combined.
 * @throws AppError `unavailable`, with advice, when the Python environment is missing or broken.
 */
export async function describeTrainer(command: TrainerCommand, converterDir: string): Promise<Description> {
  try {
    const { stdout } = await run(
      command.pythonPath,
      ['-m', 'trainer', 'describe', '--converter', converterDir],
      { env: trainerEnvironment(command, null), timeout: 30_000, maxBuffer: 2 ** 22 },
    );
    return v.parse(description, JSON.parse(stdout));
  } catch (error) {
    const stderr = (error as { stderr?: string }).stderr?.trim().split('\n').at(-1);
    throw new AppError(
      'unavailable',
      `The trainer's Python environment does not work (${stderr || (error as Error).message}). Run "npm run doctor" to see what is missing, or "npm start" again to repair it.`,
      { cause: error },
    );
  }
}
