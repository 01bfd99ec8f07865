import type { JobSpec } from '../../trainer/protocol.ts';
import type { Job } from '../job-record/job.ts';
import type { TrainingRequest } from './training-request.ts';

/** The request that starts a job again, with every setting; `null` for a job whose settings are unknown. */
export function repeatedRequest(job: Job): Partial<TrainingRequest> | null {
  const spec = job.spec as Partial<JobSpec> | null;
  if (spec?.settings === undefined) return null;
  const { eval_split, ...settings } = spec.settings;
  const { export: made, validation } = spec;
  return {
    task: job.task,
    model_name: job.modelName,
    ...(spec.model?.adapter === undefined ? {} : { merge_adapter: true }),
    dataset: job.datasetName,
    provider: job.provider,
    strategy: job.strategy,
    ...settings,
    // They exclude each other.
    ...(validation == null ? { eval_split } : { validation_dataset: validation.name }),
    ...(made === null
      ? { export: 'none' as const }
      : made?.required === true
        ? { export: { quantizations: [...made.quantizations] } }
        : {}),
  };
}
