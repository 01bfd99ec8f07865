import { sep } from 'node:path';
import { unfinishedStates } from '../../contract/jobs.ts';
import type { Store } from '../../db/store.ts';
import { AppError } from '../../errors.ts';
import { jobName } from '../job-record/job.ts';
import type { Model, Models } from './models.ts';

/** A user of a model's files. */
export interface ModelUser {
  /** Releases a model's files. @throws AppError `conflict` while they are in use. */
  release(model: Model): void | Promise<void>;
}

/** Deletes a model with its files. @throws AppError `not_found`, or `conflict` while it is used or trained on. */
export type RemoveModel = (reference: string) => Promise<Model>;

export function createModelRemoval(options: {
  readonly store: Store;
  readonly models: Models;
  /** Asked in this order. */
  readonly users: readonly ModelUser[];
}): RemoveModel {
  const { store, models, users } = options;
  return async (reference) => {
    const model = models.find(reference);
    const job = store.jobs
      .inStates(unfinishedStates)
      .find(({ modelName }) => modelName === model.path || modelName.startsWith(model.path + sep));
    if (job !== undefined) {
      throw new AppError(
        'conflict',
        `The model ${model.name} is used by the running job ${jobName(job.id)}. Stop it first.`,
      );
    }
    // After the last one, nothing may use the model before it is gone.
    for (const user of users) {
      const released = user.release(model);
      if (released !== undefined) await released;
    }
    await models.remove(model);
    return model;
  };
}
