import { metricIn } from '../../contract/graders/grader-types.ts';
import type { JobState } from '../../contract/jobs.ts';
import {
  type Direction,
  directionOf,
  type Parameters,
  type Space,
  type SweepState,
} from '../../contract/sweeps.ts';
import type { Store } from '../../db/store.ts';
import type { SweepRow, TrialRow } from '../../db/tables/sweeps.ts';
import { type Job, jobName } from '../job-record/job.ts';
import type { TrainingRequest } from '../training/training-request.ts';
import { type Evaluation, isBetter } from './halving.ts';
import { type Importance, importanceOf } from './importance.ts';

/** A sweep's ID in the API. */
export const sweepName = (id: number) => `sweep_${id}`;

/** The state of a trial: that of its job, or that it was culled, or that its job was deleted. */
export type TrialState = JobState | 'culled' | 'deleted';

/** A trial, with what its job has reported. */
export interface Trial {
  readonly number: number;
  readonly row: TrialRow;
  /** null if it was deleted. */
  readonly job: Job | null;
  readonly state: TrialState;
  readonly parameters: Parameters;
  /** Without that of the base model. */
  readonly evaluations: readonly (Evaluation & { readonly step: number })[];
  /** The result of a completed trial: that of its last evaluation, or of the best with `keep_best`. */
  readonly value: number | null;
  readonly step: number;
  readonly totalSteps: number | null;
}

/** A sweep with its trials. */
export interface Sweep extends SweepRow {
  readonly name: string;
  readonly state: SweepState;
  readonly request: TrainingRequest;
  readonly space: Space;
  readonly direction: Direction;
  readonly trialsDone: readonly Trial[];
}

/** Reads a sweep with its trials. */
export function readSweep(row: SweepRow, store: Store): Sweep {
  const { request, space, state, direction } = row as Sweep;
  return {
    ...row,
    request,
    space,
    state,
    direction: direction ?? directionOf(row.metric),
    name: sweepName(row.id),
    trialsDone: store.sweeps.trials(row.id).map((trial) => readTrial(trial, row.metric, store)),
  };
}

function readTrial(row: TrialRow, metric: string, store: Store): Trial {
  const job = store.jobs.get(row.jobId) as Job | null;
  const totalSteps = job?.lastMetric?.total_steps ?? null;
  const evaluations = store.events.bySeq(store.events.steps(row.jobId, 'eval')).flatMap(({ payload }) => {
    const { step, metrics } = payload as { step: number; metrics: Record<string, number | null> };
    // The base model's is the same for all trials.
    if (step === 0) return [];
    return {
      step,
      fraction: totalSteps === null ? 0 : step / totalSteps,
      value: metricIn(metrics, metric) ?? null,
    };
  });
  const isCompleted = job?.state === 'completed';
  return {
    number: row.number,
    row,
    job,
    state: stateOf(row, job),
    parameters: row.parameters as Parameters,
    evaluations,
    value: isCompleted
      ? (metricIn(job.resultMetrics ?? {}, metric) ?? evaluations.at(-1)?.value ?? null)
      : null,
    step: job?.lastMetric?.step ?? 0,
    totalSteps,
  };
}

function stateOf({ culled }: TrialRow, job: Job | null): TrialState {
  if (job === null) return 'deleted';
  return culled && (job.state === 'stopped' || job.state === 'stopping') ? 'culled' : job.state;
}

/** The trial with the best value; null before one is completed. */
export function bestOf({ trialsDone, direction }: Sweep): Trial | null {
  return trialsDone.reduce<Trial | null>(
    (best, trial) => (isBetter(trial.value, best?.value ?? null, direction) ? trial : best),
    null,
  );
}

/** The training request with these parameters. */
export const requestWith = ({ request }: Sweep, parameters: Parameters): TrainingRequest =>
  ({ ...request, ...parameters }) as TrainingRequest;

/**
 * The importance of each setting. Without culling, from the results; with it, from every trial's first evaluation,
 * because trials that were culled have no result.
 */
export function sweepImportance({ space, culling, trialsDone }: Sweep): Importance[] {
  const results = trialsDone.flatMap(({ parameters, value, evaluations }) => {
    const compared = culling ? (evaluations[0]?.value ?? null) : value;
    return compared === null ? [] : [{ parameters, value: compared }];
  });
  return importanceOf(Object.keys(space), results);
}

/** The name of a trial's job. */
export const trialJobName = ({ job }: Trial): string | null => (job === null ? null : jobName(job.id));
