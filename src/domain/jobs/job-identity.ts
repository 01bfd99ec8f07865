import type { Store } from '../../db/store.ts';
import type { FrameLog } from '../events/frame-log.ts';
import type { IdentityChange } from '../job-record/identity.ts';
import { displayNameOf, type Job } from '../job-record/job.ts';
import type { Models } from '../models/models.ts';
import { writeIdentity } from './identity-file.ts';
import type { JobReader } from './job-records.ts';

/**
 * Changes what people call a job. Its model is renamed with it as long as the two have the same name.
 * @throws AppError `not_found`.
 */
export type IdentifyJob = (id: number, change: IdentityChange) => Promise<Job>;

export function createJobIdentity(
  { store, frames, models }: { readonly store: Store; readonly frames: FrameLog; readonly models: Models },
  get: JobReader['get'],
  folder: (id: number) => string,
): IdentifyJob {
  return async (id, change) => {
    const before = get(id);
    const { notes = before.notes, tags = before.tags } = change;
    const named = change.displayName === undefined ? before.displayName : (change.displayName ?? '');
    const displayName = displayNameOf({ ...before, displayName: named });
    store.jobs.update(id, { displayName, notes, tags });
    writeIdentity(folder(id), { displayName, notes, tags });
    frames.send('identity', id, { display_name: displayName, notes, tags });
    const model = store.models.ofJob(id);
    if (model !== null && model.displayName === before.displayName)
      await models.identify(model.modelId, { displayName });
    return get(id);
  };
}
