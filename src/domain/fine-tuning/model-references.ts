import type { FineTuningStore } from '../../db/tables/fine-tuning.ts';
import { AppError } from '../../errors.ts';
import { isBaseName } from '../base-models/local-models.ts';
import type { Checkpoint, Checkpoints } from '../checkpoints/checkpoints.ts';
import { jobName } from '../job-record/job.ts';
import type { Aliases, AliasTargets } from '../models/aliases.ts';
import type { Models } from '../models/models.ts';
import type { RemoteModel, RemoteModels } from '../remote-models/remote-models.ts';
import { readCheckpointName } from './model-name.ts';

/** What a name stands for, as the playground takes it. */
export interface ModelReference {
  /** A model's ID, the name of a base model, or that of the job with the checkpoint. */
  readonly model: string;
  /** The step of a checkpoint. */
  readonly checkpoint?: number;
}

/** Finds what answers to a name of `/v1`: of a model, either ID, or the name of a checkpoint, a base model or an alias. */
export interface ModelReferences {
  /** @param conversation as of `Aliases.targetsOf`. @throws AppError `not_found`, or `invalid` for a model of another service. */
  resolve(name: string, conversation?: string): ModelReference;
  /** The model of another service that answers to a name, or `null` if none does. @param conversation as above. */
  remoteOf(name: string, conversation?: string): RemoteModel | null;
  /** The checkpoint that a name is of, or `null` if it is not that of one. @throws AppError `not_found`. */
  checkpointOf(name: string): Promise<Checkpoint | null>;
}

/** One text for each model, base model and checkpoint, whatever it was named by. */
export const referenceKey = ({
  model,
  checkpoint,
}: {
  readonly model: string;
  readonly checkpoint?: number | undefined;
}): string => (checkpoint === undefined ? model : `${model}@${checkpoint}`);

export function createModelReferences(options: {
  readonly aliases: Pick<Aliases, 'targetsOf'>;
  readonly store: FineTuningStore;
  readonly models: Models;
  readonly checkpoints: Checkpoints;
  readonly remoteModels: Pick<RemoteModels, 'find'>;
}): ModelReferences {
  const { aliases, store, models, checkpoints, remoteModels } = options;

  function idOf(name: string): string {
    try {
      return models.findByName(name).modelId;
    } catch (error) {
      // A model that was trained here may be called like a base.
      if (isBaseName(name)) return name;
      throw error;
    }
  }

  function remoteOf(name: string, conversation?: string): RemoteModel | null {
    const targets = aliases.targetsOf(name, conversation);
    if (targets === null) return remoteModels.find(name);
    const { target, candidate } = targets;
    if (candidate !== null && remoteModels.find(candidate) === null && isThere(candidate)) return null;
    return (candidate === null ? null : remoteModels.find(candidate)) ?? remoteModels.find(target);
  }

  /** Whether a name stands for a model that is here. */
  function isThere(name: string): boolean {
    try {
      resolve(name);
      return true;
    } catch {
      return false;
    }
  }

  function resolve(name: string, conversation?: string): ModelReference {
    const remote = remoteOf(name, conversation);
    if (remote !== null)
      throw new AppError(
        'invalid',
        `${name} is a model of another service (${remote.url}), which is asked with POST /v1/chat/completions alone.`,
      );
    const targets = aliases.targetsOf(name, conversation);
    if (targets !== null) return ofAlias(name, targets);
    const found = readCheckpointName(name);
    if (found === null) return { model: idOf(name) };
    const jobId = store.jobIdOfModel(found.model);
    const model = jobId === null ? found.model : jobName(jobId);
    return { model: jobName(checkpoints.jobOf(model).id), checkpoint: found.step };
  }

  /** Never another model: what an alias stands for may have been deleted. */
  function ofAlias(name: string, { target, candidate }: AliasTargets): ModelReference {
    // A candidate that was deleted answers nothing more.
    if (candidate !== null && isThere(candidate)) return resolve(candidate);
    try {
      return resolve(target);
    } catch (cause) {
      throw new AppError('not_found', `The model that ${name} stands for was deleted. Move the alias.`, {
        cause,
      });
    }
  }

  return {
    resolve,
    remoteOf,
    async checkpointOf(name) {
      const { model, checkpoint } = resolve(name);
      if (checkpoint === undefined) return null;
      const kept = await checkpoints.list(checkpoints.jobOf(model).id);
      const found = kept.find(({ step }) => step === checkpoint);
      if (found === undefined)
        throw new AppError('not_found', `There is no checkpoint ${name.slice(0, 200)}.`);
      return found;
    },
  };
}
