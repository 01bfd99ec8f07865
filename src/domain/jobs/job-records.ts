import { activeStates, type JobState, unfinishedStates } from '../../contract/jobs.ts';
import type { Facets } from '../../db/search.ts';
import type { Store } from '../../db/store.ts';
import type { JobChange, JobFilter, JobList } from '../../db/tables/jobs.ts';
import { AppError } from '../../errors.ts';
import type { Emit, FrameLog } from '../events/frame-log.ts';
import { type Job, jobName } from '../job-record/job.ts';
import { checkTransition } from '../job-record/job-states.ts';
import { statusPayload } from './job-journal.ts';
import { reachedFigures } from './reached-figures.ts';

/** Read access to the stored jobs. */
export interface JobReader {
  /** @throws AppError `not_found`. */
  get(id: number): Job;
  list(filter: JobFilter): JobList<Job>;
  /** The values that jobs can be filtered by. */
  facets(): Facets;
  /** The number of jobs in each state. */
  counts(): { readonly state: string; readonly count: number }[];
  /**
   * The job that status responses describe: the newest one, unless its end was acknowledged. Returns the same object
   * until a job changes, so that callers can cache what they derive from it.
   */
  current(): Job | null;
  /** The job that has occupied the machine for the longest time, or else the first in the queue. */
  unfinished(): Job | null;
  /** The jobs that occupy the machine, the longest-running first, or else the first in the queue. */
  underway(): Job[];
}

/** The stored jobs, with the only way to change their state. Only jobs and their runs use it. */
export interface JobRecords extends JobReader {
  /**
   * Moves a job to a state, with other changes, and publishes it.
   * @param also runs in the same transaction.
   * @throws AppError `conflict` for an invalid transition.
   */
  move(id: number, to: JobState, change?: JobChange, also?: (emit: Emit) => void): Job;
  /** Moves a job to its final state and sets its end time, by default now, and its figures, by default the latest. */
  end(id: number, to: JobState, change?: JobChange, also?: (emit: Emit) => void): Job;
}

export function createJobRecords(store: Store, frames: FrameLog): JobRecords {
  function get(id: number): Job {
    const row = store.jobs.get(id);
    if (row === null) throw new AppError('not_found', `There is no job ${jobName(id)}.`);
    return row as Job;
  }
  const move: JobRecords['move'] = (id, to, change = {}, also = () => {}) =>
    frames.commit((emit) => {
      checkTransition(get(id).state, to);
      store.jobs.update(id, { ...change, state: to });
      const job = get(id);
      emit('status', id, statusPayload(job));
      also(emit);
      return job;
    });
  const underway = () => {
    const active = store.jobs.inStates(activeStates);
    // A resumed job may have a lower number than one that was running before it.
    active.sort((a, b) => ((a.startedAt ?? '') < (b.startedAt ?? '') ? -1 : 1));
    return (active.length > 0 ? active : store.jobs.inStates(unfinishedStates).slice(0, 1)) as Job[];
  };
  const unfinished = store.jobs.cached(() => underway()[0] ?? null);
  return {
    get,
    list: (filter) => store.jobs.list(filter) as JobList<Job>,
    facets: () => store.jobs.facets(),
    counts: () => store.jobs.counts(),
    current: store.jobs.cached(() => {
      const job = unfinished() ?? (store.jobs.newest() as Job | null);
      return job === null || job.acknowledged ? null : job;
    }),
    unfinished,
    underway,
    move,
    end(id, to, change, also) {
      const [endedAt, resultMetrics] = [new Date().toISOString(), reachedFigures(store.events, id)];
      return move(id, to, { endedAt, resultMetrics, ...change }, also);
    },
  };
}
