import * as v from 'valibot';
import type { Direction, Parameters } from '../contract/sweeps.ts';
import { askTrainer } from './ask.ts';
import type { TrainerCommand } from './processes/supervisor.ts';

/** What the sampler is shown (trainer/propose.py). */
export interface ProposalQuestion {
  readonly seed: number;
  readonly direction: Direction;
  readonly space: Readonly<Record<string, object>>;
  readonly trials: readonly {
    readonly parameters: Parameters;
    readonly state: 'completed' | 'culled' | 'running' | 'failed';
    /** The metric by step. */
    readonly points: readonly (readonly [number, number])[];
  }[];
}

const proposal = v.object({
  parameters: v.record(v.string(), v.union([v.number(), v.string(), v.boolean()])),
});

/** It takes a third of a second; longer than this, it hangs. */
const timeoutMs = 120_000;

/** Asks for the parameters of a sweep's next trial. @throws AppError as `askTrainer` does. */
export async function propose(
  command: TrainerCommand,
  question: ProposalQuestion,
  signal: AbortSignal,
): Promise<Parameters> {
  const { parameters } = await askTrainer(command, {
    what: 'proposal',
    args: ['propose'],
    input: JSON.stringify(question),
    answer: proposal,
    folder: command.installDir,
    secrets: null,
    timeoutMs,
    signal,
  });
  return parameters;
}
