import type { JobSpec, Parent } from '../../trainer/protocol.ts';
import type { Job } from '../job-record/job.ts';
import type { TrainingRequest } from './training-request.ts';

/** The request that starts a job again, with every setting; `null` for a job whose settings are unknown. */
export function repeatedRequest(job: Job): Partial<TrainingRequest> | null {
  const spec = job.spec as Partial<JobSpec> | null;
  if (spec?.settings === undefined) return null;
  const { eval_split, ...settings } = spec.settings;
  const { export: made, validation, tracking } = spec;
  const parent = spec.model?.parent;
  // Of a parent, the request decides again; the settings are there.
  const isMerged = parent === undefined ? spec.model?.adapter !== undefined : parent.how === 'merged';
  return {
    task: job.task,
    model_name: parent === undefined ? job.modelName : referenceOf(parent),
    merge_adapter: isMerged ? true : undefined,
    dataset: job.datasetName,
    provider: job.provider,
    strategy: job.strategy,
    ...settings,
    // They exclude each other.
    eval_split: validation == null ? eval_split : undefined,
    validation_dataset: validation?.name,
    report_to: tracking?.report_to,
    project: tracking?.project,
    export: made === null ? 'none' : made?.required ? { quantizations: [...made.quantizations] } : undefined,
  };
}

/** What names a parent in a request. */
const referenceOf = ({ model_id: id, name, step }: Parent) => (step === null ? name : `${id}@${step}`);
