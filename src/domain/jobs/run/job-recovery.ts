import { activeStates, unfinishedStates } from '../../../contract/jobs.ts';
import type { Store } from '../../../db/store.ts';
import { findTrainer, killTrainer, stopTrainer } from '../../../trainer/processes/supervisor.ts';
import { type Job, jobName } from '../../job-record/job.ts';
import type { JobRecords } from '../job-records.ts';
import type { Waits } from './follower.ts';
import type { JobRuns } from './job-runs.ts';

/**
 * Finds the trainers started by an earlier service and follows them; ends the jobs whose trainer is gone.
 * @param onEnded called for each of these jobs after its end is stored.
 */
export async function recoverRuns(options: {
  readonly store: Store;
  readonly records: JobRecords;
  readonly runs: JobRuns;
  readonly folder: (id: number) => string;
  readonly waits: Waits;
  readonly onEnded: (id: number) => Promise<void>;
  readonly logger: { info(fields: object, text: string): void };
}): Promise<void> {
  const { store, records, runs, folder, waits } = options;
  for (const row of store.jobs.inStates(unfinishedStates)) {
    const job = row as Job;
    const known =
      job.pid === null || job.pidStarted === null ? null : { pid: job.pid, started: job.pidStarted };
    const trainer = await findTrainer(folder(job.id), known);
    if (job.state === 'queued' && job.spec === null) runs.fail(job.id, { kind: 'not_prepared' });
    if (job.state === 'queued' && trainer !== null) records.move(job.id, 'starting');
    if (!activeStates.includes(records.get(job.id).state) || runs.of(job.id) !== undefined) continue;
    if (trainer !== null) {
      const { pid, started } = trainer.identity;
      store.jobs.update(job.id, { pid, pidStarted: started });
      options.logger.info({ job: jobName(job.id), pid }, 'A running training was found again');
      if (job.discardRequested) void killTrainer(trainer, 0);
      else if (job.stopRequested) void stopTrainer(trainer, folder(job.id), waits);
    }
    void runs.watch(job.id, trainer).followed.then(() => options.onEnded(job.id));
  }
}
