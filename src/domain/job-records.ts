import type { JobChange } from '../db/jobs.ts';
import type { Store } from '../db/store.ts';
import { AppError } from '../errors.ts';
import type { Frames } from './frames.ts';
import { type Job, jobName } from './job.ts';
import { statusPayload } from './job-journal.ts';
import { checkTransition, type JobState } from './job-states.ts';

/** The stored jobs, and the one way in which their state changes. Jobs and their runs alone have it. */
export interface JobRecords {
  /** @throws AppError `not_found`. */
  read(id: number): Job;
  /** Moves a job to a state, with other changes, and tells it. @throws Error for a transition that is not allowed. */
  move(id: number, to: JobState, change?: JobChange): Job;
}

export function createJobRecords(store: Store, frames: Frames): JobRecords {
  function read(id: number): Job {
    const row = store.jobs.get(id);
    if (row === null) throw new AppError('not_found', `There is no job ${jobName(id)}.`);
    return row as Job;
  }
  return {
    read,
    move: (id, to, change = {}) =>
      frames.commit((emit) => {
        checkTransition(read(id).state, to);
        store.jobs.update(id, { ...change, state: to });
        const job = read(id);
        emit('status', id, statusPayload(job));
        return job;
      }),
  };
}
