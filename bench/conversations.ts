import { makeInputs } from './harness/inputs.ts';
import type { Scenario } from './harness/scenario.ts';
import { checkSteps, trainingComparisons, trainingSides } from './harness/training.ts';

/*
 * The scenario `training` with conversations of one to four turns. The peer learns the answers alone, by
 * `assistant_only_loss` and a template with the tags that it needs, which both sides use: TRL's for Llama 3.
 */
export const scenario: Scenario = {
  name: 'conversations',
  about: 'real tokens per CPU second, training on every answer of conversations, at equal loss in every step',
  runs: { full: 3, quick: 1 },
  warmUps: { full: 0, quick: 0 },
  prepare: (input) => makeInputs('training_inputs.py', [input.size, 'messages'], input),
  sides: trainingSides('messages'),
  comparisons: trainingComparisons({ rate: { times: 2.5 }, memory: { share: 1 }, operations: null }),
  check: checkSteps,
};
