import { sep } from 'node:path';
import { unfinishedStates } from '../../contract/jobs.ts';
import type { Store } from '../../db/store.ts';
import { AppError } from '../../errors.ts';
import type { JobSpec } from '../../trainer/protocol.ts';
import type { Bin, Restoring } from '../bin/bin.ts';
import { jobName } from '../job-record/job.ts';
import { parentOf } from './merged-base.ts';
import { writeModelFile } from './model-file.ts';
import { freeName, type Model, type Models } from './models.ts';

/** A user of a model's files. */
export interface ModelUser {
  /** Releases a model's files. @throws AppError `conflict` while they are in use. */
  release(model: Model): void | Promise<void>;
}

/**
 * Deletes a model with its files. @returns it with its ID in the bin, if it is kept.
 * @throws AppError `not_found`, or `conflict` while it is used or trained on.
 */
export type RemoveModel = (
  reference: string,
  permanently?: boolean,
) => Promise<Model & { readonly binId: string | null }>;

export function createModelRemoval(options: {
  readonly store: Store;
  readonly models: Models;
  readonly bin: Bin;
  /** Asked in this order. */
  readonly users: readonly ModelUser[];
}): RemoveModel {
  const { store, models, bin, users } = options;
  bin.restores('model', restoringModels(store, models));
  return async (reference, permanently) => {
    const place = await models.placeOf(models.find(reference), permanently);
    const model = models.find(reference);
    const isOfIt = (path: string | null | undefined) =>
      path === model.path || path?.startsWith(model.path + sep) === true;
    const job = store.jobs.inStates(unfinishedStates).find(({ modelName, spec }) => {
      const teacher = (spec as Partial<JobSpec> | null)?.teacher;
      return (
        [modelName, teacher?.path, teacher?.adapter].some(isOfIt) ||
        parentOf(spec)?.model_id === model.modelId
      );
    });
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
    return { ...model, binId: await models.remove(model, place) };
  };
}

/** How models are restored, each under a name that is free. */
const restoringModels = (store: Store, models: Pick<Models, 'isFree'>): Restoring => ({
  // Its name may have been given again, and its run may have been deleted or restored.
  row(_, row) {
    const { name, base_model, dataset_name, model_id } = row as Record<string, string>;
    return {
      ...row,
      name: models.isFree(name as string)
        ? name
        : freeName(models.isFree, base_model as string, dataset_name as string),
      job_id: store.jobs.byModelId(model_id as string)?.id ?? null,
    };
  },
  restored({ ref }, emit) {
    const model = store.models.byModelId(ref) as Model;
    void writeModelFile(model);
    emit('model', null, { action: 'restored', model_id: ref, id: model.id, name: model.name });
  },
});
