import { AppError } from '../errors.ts';

/** The one table of what may follow what; only this module judges a change of state. */
const transitions = {
  queued: ['starting', 'stopped', 'failed'],
  starting: ['running', 'stopping', 'completed', 'failed', 'stopped', 'interrupted'],
  running: ['stopping', 'completed', 'failed', 'stopped', 'interrupted'],
  stopping: ['stopped', 'completed', 'failed', 'interrupted'],
  completed: [],
  failed: ['queued'],
  stopped: ['queued'],
  interrupted: ['queued'],
} as const satisfies Record<string, readonly string[]>;

export type JobState = keyof typeof transitions;
export const jobStates = Object.keys(transitions) as [JobState, ...JobState[]];

/** States in which a job holds the machine. */
export const activeStates: readonly JobState[] = ['starting', 'running', 'stopping'];
/** States in which a second start is refused. */
export const unfinishedStates: readonly JobState[] = ['queued', ...activeStates];
/** States from which a job can be resumed. */
export const resumableStates: readonly JobState[] = ['failed', 'stopped', 'interrupted'];

/** @throws AppError `conflict` when a job in state `from` cannot become `to`. */
export function checkTransition(from: JobState, to: JobState): void {
  if (!(transitions[from] as readonly string[]).includes(to)) {
    throw new AppError('conflict', `A job that is ${from} cannot become ${to}.`);
  }
}
