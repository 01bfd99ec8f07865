import { join } from 'node:path';
import { makeInputs } from './harness/inputs.ts';
import { runMeasured } from './harness/measured.ts';
import { programs, python, pythonVersion, root } from './harness/places.ts';
import type { Scenario, Side, Size } from './harness/scenario.ts';

/*
 * The answers that an evaluation generates: tokens that are written per second of the process's CPU time, with the
 * prompts. Both sides compute in float32 and must write the same tokens.
 */

/** Rows that are answered. */
const rows: Record<Size, number> = { full: 64, quick: 32, test: 12 };
const env = { OMP_NUM_THREADS: '1', HF_HUB_OFFLINE: '1', PYTHONPATH: root };

const side = (name: 'hone' | 'transformers', about: Side['about']): Side => ({
  name,
  about,
  trial: async ({ dir, size }) => {
    const args = [join(programs, 'answers.py'), dir, String(rows[size]), name];
    const { stdout, peakBytes } = await runMeasured(python, args, { env });
    const told = JSON.parse(stdout.slice(stdout.trimEnd().lastIndexOf('\n') + 1));
    return {
      figures: { rate: told.tokens / told.seconds, memory: peakBytes / 2 ** 20 },
      answer: told.answers,
    };
  },
});

export const scenario: Scenario = {
  name: 'answers',
  about: 'greedy answers of an evaluation: tokens per CPU second, with equal answers',
  runs: { full: 3, quick: 1 },
  warmUps: { full: 0, quick: 0 },
  prepare: (input) => makeInputs('training_inputs.py', [input.size, 'input-output'], input),
  sides: [
    side('hone', 'as evaluations during a training'),
    side(
      'transformers',
      async () => `transformers ${await pythonVersion('transformers')}, generate with batches of 8`,
    ),
  ],
  comparisons: [
    {
      ...{ metric: 'tokens per CPU second', figure: 'rate', unit: 'tokens/s', better: 'more' },
      ...{ peer: 'transformers', goal: { times: 3 } },
    },
    {
      metric: 'peak memory',
      figure: 'memory',
      unit: 'MiB',
      better: 'less',
      peer: 'transformers',
      goal: { share: 1 },
    },
  ],
};
