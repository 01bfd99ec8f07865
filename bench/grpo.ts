import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeInputs } from './harness/inputs.ts';
import type { Comparison, Scenario } from './harness/scenario.ts';
import { compareSteps, type Family, familySides, fewerSteps, type Step } from './harness/training.ts';

/*
 * Steps of grpo, measured as in the scenario `families`: eight answers to a prompt, which both sides compute and draw before
 * they write the script's, and a grader that compares them with a text. The answers of `grpo` end as those of chats do, those
 * of `grpo-64` after 64 tokens.
 */

const likeness = {
  ...{ name: 'likeness', type: 'text_similarity', evaluation_metric: 'fuzzy_match' },
  ...{ input: '{{sample.output_text}}', reference: '{{item.chosen}}' },
};

const family = (ours: string, peer: string, shape: 'group' | 'group-64', longest: number): Family => ({
  ...{ ours, peer, shape, program: 'training_policy.py', library: 'trl', top: { strategy: 'grpo' } },
  // TRL's defaults are no distance from the base model, and 256 tokens.
  changes: { graders: [{ grader: likeness, weight: 1 }], kl_beta: 0, max_answer_tokens: longest },
});

const ended = { ...family('grpo', 'GRPOTrainer', 'group', 256), times: 2 };
const whole = { ...family('grpo-64', 'GRPOTrainer, 64 tokens', 'group-64', 64), times: 3 };
const families = [ended, whole];

export const scenario: Scenario = {
  name: 'grpo',
  about: 'real tokens per CPU second of steps of grpo, at equal rewards, entropies and gradients',
  runs: { full: 3, quick: 1 },
  warmUps: { full: 0, quick: 0 },
  prepare: async ({ dir, size }) => {
    for (const { ours, shape } of families) {
      const folder = join(dir, ours);
      mkdirSync(folder);
      await makeInputs('training_inputs.py', [size, shape], { dir: folder, size });
    }
  },
  sides: [...familySides(ended, ended.ours, fewerSteps), ...familySides(whole, whole.ours, fewerSteps)],
  comparisons: families.flatMap(({ ours, peer, times }): Comparison[] => [
    {
      ...{ ours, peer, metric: `${ours}: tokens per CPU second`, figure: 'rate', unit: 'tokens/s' },
      ...{ better: 'more', goal: { times } },
    },
    {
      ...{ ours, peer, metric: `${ours}: peak memory`, figure: 'memory', unit: 'MiB' },
      ...{ better: 'less', goal: { share: 1 } },
    },
  ]),
  check: (answers) => {
    for (const { ours, peer } of families) compareSteps(answers[ours] as Step[], answers[peer] as Step[]);
  },
};
