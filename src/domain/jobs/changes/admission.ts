import { unfinishedStates } from '../../../contract/jobs.ts';
import { AppError } from '../../../errors.ts';
import type { Job } from '../../job-record/job.ts';
import { whyItWaits } from '../why-it-waits.ts';
import type { JobParts } from './job-parts.ts';

/**
 * @param queue whether the training may wait.
 * @returns a check for a training with so many `workers`, to be repeated when the job is stored.
 * @throws AppError `conflict`, from the check, where a training would have to wait, or the queue is full.
 */
export async function admission(
  { store, runs, machine, queueLimit }: JobParts,
  queue: boolean,
): Promise<(workers: number) => void> {
  const share = await machine.share();
  return (workers) => {
    const others = store.jobs.inStates(unfinishedStates) as Job[];
    const reason = queue
      ? whyFull(others.filter(({ state }) => state === 'queued').length, queueLimit)
      : whyItWaits(others, share, workers, () => runs.hasRoom(share, workers));
    if (reason !== null) throw new AppError('conflict', reason);
  };
}

const whyFull = (waiting: number, limit: number): string | null =>
  waiting < limit
    ? null
    : `The queue is full: ${waiting} trainings are waiting. Wait until one has started, or take one out of the queue.`;
