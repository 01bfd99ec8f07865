import { type JobState, unfinishedStates } from '../../contract/jobs.ts';
import { shouldCull } from './halving.ts';
import type { Sweep, Trial } from './sweep.ts';

/** If so many trials have failed and none has done anything else, the rest would, too. */
const hopelessFailures = 3;

export const isUnfinished = (state: JobState): boolean => unfinishedStates.includes(state);

/** The trials whose jobs wait or run. */
export const openTrials = ({ trialsDone }: Pick<Sweep, 'trialsDone'>): Trial[] =>
  trialsDone.filter(({ job }) => job !== null && isUnfinished(job.state));

export type NextStep =
  | { readonly kind: 'start' | 'wait' | 'complete' }
  /** Every trial failed; `error` quotes the first. */
  | { readonly kind: 'fail'; readonly error: string };

/** What a running sweep does now, with at most `parallel` trials at once. */
export function nextStep(sweep: Pick<Sweep, 'trials' | 'trialsDone'>, parallel: number): NextStep {
  const { trials, trialsDone } = sweep;
  const failed = trialsDone.filter(({ state }) => state === 'failed' || state === 'interrupted');
  if (failed.length >= hopelessFailures && failed.length === trialsDone.length) {
    const first = failed[0]?.job?.errorMessage ?? 'no message';
    return {
      kind: 'fail',
      error: `The first ${failed.length} trials failed, the first of them with: ${first}`,
    };
  }
  const open = openTrials(sweep);
  if (trialsDone.length >= trials) return { kind: open.length === 0 ? 'complete' : 'wait' };
  return { kind: open.length >= parallel ? 'wait' : 'start' };
}

/** Whether a trial that was evaluated is stopped, because enough others were better at the same point. */
export function loses({ culling, direction, trialsDone }: Sweep, trial: Trial): boolean {
  if (!culling || trial.row.culled || trial.job?.state !== 'running') return false;
  const others = trialsDone.filter((other) => other !== trial && other.evaluations.length > 0);
  return shouldCull(
    trial.evaluations,
    others.map(({ evaluations }) => evaluations),
    direction,
  );
}
