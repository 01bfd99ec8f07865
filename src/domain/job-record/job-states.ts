import { type JobState, states } from '../../contract/jobs.ts';
import { AppError } from '../../errors.ts';

/** @throws AppError `conflict` when a job in state `from` cannot become `to`. */
export function checkTransition(from: JobState, to: JobState): void {
  if (!(states[from].next as readonly JobState[]).includes(to)) {
    throw new AppError('conflict', `A job that is ${from} cannot become ${to}.`);
  }
}
