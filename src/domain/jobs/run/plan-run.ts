import { heldOutRows, totalSteps } from '../../../contract/training/steps.ts';
import type { JobSpec } from '../../../trainer/protocol.ts';
import type { Job } from '../../job-record/job.ts';
import type { TimePlan } from '../../job-record/timing/time-plan.ts';
import { planTime, type TimedRun } from '../../training/estimate/time-estimate.ts';

/** What tells how long a job's run will take. */
export interface TimeSources {
  /** What runs of a base model took on this machine, newest first. */
  readonly earlierRuns: (modelName: string) => readonly TimedRun[];
  /** The mean size of a row in a dataset, in bytes; `null` if the dataset is gone. */
  readonly bytesPerRow: (dataset: string) => number | null;
  /** Of a base model; `null` if unknown. */
  readonly parametersOf: (modelName: string) => Promise<number | null>;
}

/** Plans the time of a job's run before it starts. */
export async function planRun(
  { spec, strategy, provider, modelName }: Pick<Job, 'spec' | 'strategy' | 'provider' | 'modelName'>,
  { earlierRuns, bytesPerRow, parametersOf }: TimeSources,
): Promise<TimePlan> {
  const { settings, dataset, validation, export: made } = spec as JobSpec;
  return planTime(earlierRuns(modelName), {
    strategy,
    provider,
    settings,
    bytesPerRow,
    dataset: dataset.name,
    rows: dataset.rows,
    heldOutRows: validation?.rows ?? heldOutRows(dataset.rows, settings.eval_split),
    steps: totalSteps(settings, strategy, dataset.rows),
    quantizations: made?.quantizations ?? [],
    // It may be gone.
    parameters: await parametersOf(modelName).catch(() => null),
  });
}
