import { html, type TemplateResult } from 'lit';
import type { JobState } from '../../src/contract/jobs.ts';
import type { SweepState } from '../../src/contract/sweeps.ts';
import type { Sweep, SweepSummary, Trial } from '../api/types.ts';
import { stateBadge } from '../elements/parts.ts';
import { isActive } from '../state/runs/job-words.ts';

const sweepStates: Readonly<Record<SweepState, string>> = {
  running: 'Running',
  completed: 'Completed',
  stopped: 'Stopped',
  failed: 'Failed',
};

/** A coloured badge with the state of a sweep. */
export const sweepBadge = (state: SweepState): TemplateResult =>
  html`<span class="badge" data-state=${state}>${sweepStates[state]}</span>`;

/** A coloured badge with the state of a trial: that of its run, unless it was culled or deleted. */
export function trialBadge(state: Trial['state']): TemplateResult {
  if (state === 'culled') return html`<span class="badge">Culled</span>`;
  if (state === 'deleted') return html`<span class="badge">Deleted</span>`;
  return stateBadge(state satisfies JobState);
}

/** The metric of a trial: its result, or that of its latest evaluation. */
export const trialValue = ({ value, last_value }: Trial): number | null => value ?? last_value;

/** Trials in the order of their results, the best first; then those that run, and those that have none. */
export function bestFirst({ trials_started: trials, direction }: Sweep): Trial[] {
  const sign = direction === 'minimize' ? 1 : -1;
  const group = ({ state, value }: Trial) =>
    value !== null ? 0 : state !== 'culled' && state !== 'deleted' && isActive(state) ? 1 : 2;
  const size = (trial: Trial) => {
    const value = trialValue(trial);
    return value === null ? Number.MAX_VALUE : sign * value;
  };
  return [...trials].sort((a, b) => group(a) - group(b) || size(a) - size(b) || a.number - b.number);
}

/** How much of a sweep is done, in percent, with the shares of the trials that run. */
export function sweepPercent(sweep: SweepSummary & { readonly trials_started?: readonly Trial[] }): number {
  const running = (sweep.trials_started ?? []).filter(({ state }) => state === 'running');
  const shares = running.map(({ step, total_steps }) => (total_steps ? step / total_steps : 0));
  return (100 * (sweep.ended + shares.reduce((sum, share) => sum + share, 0))) / sweep.trials;
}

/** Whether a metric is better small or large, in words. */
export const directionWords = (direction: Sweep['direction']) =>
  direction === 'minimize' ? 'lower is better' : 'higher is better';
