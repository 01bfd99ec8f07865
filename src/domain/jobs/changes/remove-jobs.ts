import { join } from 'node:path';
import { unfinishedStates } from '../../../contract/jobs.ts';
import { AppError } from '../../../errors.ts';
import type { Deletion } from '../../bin/bin.ts';
import type { Emit } from '../../events/frame-log.ts';
import { displayNameOf, jobName } from '../../job-record/job.ts';
import type { JobParts } from './job-parts.ts';

/** What is deleted together with jobs, whose name it has in the bin. */
export type DeletedWith = Omit<Deletion, 'remove'> & { readonly remove?: (emit: Emit) => void };

/** Deletes a job with its folder and logs, as `Jobs.remove`. */
export function removeJob(parts: JobParts, id: number, permanently?: boolean): Promise<string | null> {
  const job = parts.records.get(id);
  const itself: DeletedWith = { kind: 'run', ref: jobName(id), name: displayNameOf(job), rows: [] };
  // What was stopped in order to be deleted has nothing to come back for.
  return removeJobs(parts, [id], itself, job.discardRequested || permanently);
}

/** Deletes jobs with their folders and logs, and what they belong to, as `Jobs.removeWith`. */
export async function removeJobs(
  parts: JobParts,
  ids: readonly number[],
  { rows, remove, ...named }: DeletedWith,
  permanently?: boolean,
): Promise<string | null> {
  const { store, bin, records, folder, places, release } = parts;
  const refuseUnfinished = (id: number) => {
    const job = records.get(id);
    if (!unfinishedStates.includes(job.state)) return job;
    throw new AppError('conflict', `${jobName(id)} is ${job.state}. Stop it before deleting it.`);
  };
  for (const id of ids) refuseUnfinished(id);
  const paths = ids.flatMap((id) => [
    folder(id),
    ...(places.logsDir === null ? [] : [join(places.logsDir, jobName(id))]),
  ]);
  const place = await bin.place(paths, permanently);
  for (const id of ids) await release(refuseUnfinished(id));
  return bin.discard(place, {
    ...named,
    rows: [...rows, ...ids.flatMap(rowsOf)],
    remove(emit) {
      for (const id of ids) {
        const { discardRequested } = refuseUnfinished(id);
        store.jobs.remove(id);
        // Without a job id, because the stored frames of this job are deleted with it.
        emit('status', null, {
          job_id: jobName(id),
          state: 'deleted',
          discarded: discardRequested || undefined,
        });
      }
      remove?.(emit);
    },
  });
}

/** Called in the transaction that restores a job. */
export function jobRestored({ store, records }: Pick<JobParts, 'store' | 'records'>, id: number, emit: Emit) {
  const { state, modelId, displayName, notes, tags } = records.get(id);
  // What was read of the jobs before is read again.
  store.jobs.update(id, { state });
  store.models.setJob(modelId, id);
  // Not its status, which would be taken for its end.
  emit('identity', null, { job_id: jobName(id), display_name: displayName, notes, tags });
}

const rowsOf = (id: number) => [
  { table: 'jobs', column: 'id', value: id },
  ...['events', 'fine_tuning_jobs', 'fine_tuning_stops', 'fine_tuning_results'].map((table) => ({
    table,
    column: 'job_id',
    value: id,
  })),
];
