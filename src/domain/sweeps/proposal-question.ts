import { settings } from '../../contract/settings.ts';
import type { VariedSetting } from '../../contract/sweeps.ts';
import type { ProposalQuestion } from '../../trainer/propose.ts';
import { isUnfinished } from './next-step.ts';
import type { Sweep, Trial } from './sweep.ts';

/** What the sampler is shown of a sweep. */
export function questionOf({ seed, direction, space, trialsDone }: Sweep): ProposalQuestion {
  const whole = (name: string) => settings[name as VariedSetting].kind === 'integer';
  return {
    seed,
    direction,
    space: Object.fromEntries(
      Object.entries(space).map(([name, dimension]) => [
        name,
        'choices' in dimension ? dimension : { ...dimension, whole: whole(name) },
      ]),
    ),
    trials: trialsDone.map(({ parameters, state, evaluations, value, step }) => {
      const points = evaluations.flatMap((at) => (at.value === null ? [] : [[at.step, at.value] as const]));
      // The result counts, also where it is that of an earlier evaluation.
      if (value !== null) points.push([Math.max(step, ...points.map(([at]) => at)) + 1, value]);
      return { parameters, points, state: shownAs(state, points.length > 0) };
    }),
  };
}

function shownAs(state: Trial['state'], hasPoints: boolean): ProposalQuestion['trials'][number]['state'] {
  if (state !== 'deleted' && state !== 'culled' && isUnfinished(state)) return 'running';
  if (!hasPoints) return 'failed';
  return state === 'completed'
    ? 'completed'
    : state === 'culled' || state === 'stopped'
      ? 'culled'
      : 'failed';
}
