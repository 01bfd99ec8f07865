import type { Dataset } from '../datasets/dataset.ts';
import type { MovedFile, MovedJob } from './moved-records.ts';
import { type Proposal, type ProposalContext, propose } from './proposal.ts';

/** A job that was moved, with the equal training here, or why there is none. */
export interface JobHere extends MovedJob {
  readonly training_dataset: string | null;
  readonly validation_dataset: string | null;
  readonly proposal: Proposal | null;
  readonly problem: string | null;
}

/** @param datasetOf the dataset of a file; `null` if it is not here. */
export function jobHere(
  job: MovedJob,
  files: ReadonlyMap<string, MovedFile>,
  datasetOf: (file: MovedFile | undefined) => Dataset | null,
  context: Pick<ProposalContext, 'baseModel' | 'recommended'>,
): JobHere {
  const training = datasetOf(files.get(job.training_file));
  const validation = job.validation_file === null ? null : datasetOf(files.get(job.validation_file));
  const proposed =
    training?.validation.valid === true
      ? propose(job, { ...context, training, validation: validation?.validation.valid ? validation : null })
      : (files.get(job.training_file)?.problem ?? 'Its training file is not here yet.');
  return {
    ...job,
    training_dataset: training?.name ?? null,
    validation_dataset: validation?.name ?? null,
    proposal: typeof proposed === 'string' ? null : proposed,
    problem: typeof proposed === 'string' ? proposed : null,
  };
}
