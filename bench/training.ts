import { makeInputs } from './harness/inputs.ts';
import type { Scenario } from './harness/scenario.ts';
import { checkSteps, trainingComparisons, trainingSides } from './harness/training.ts';

export const scenario: Scenario = {
  name: 'training',
  about: 'real tokens per CPU second, at equal loss in every step',
  // One of our steps takes a third of a second, so other load can distort a run; the median of three discards it.
  runs: { full: 3, quick: 1 },
  warmUps: { full: 0, quick: 0 },
  prepare: (input) => makeInputs('training_inputs.py', [input.size, 'input-output'], input),
  sides: trainingSides('input-output'),
  comparisons: trainingComparisons({
    ...{ rate: { times: 4.5 }, memory: { share: 1 }, operations: { times: 0.75 } },
  }),
  check: checkSteps,
};
