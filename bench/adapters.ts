import { linkSync } from 'node:fs';
import { join } from 'node:path';
import { makeInputs } from './harness/inputs.ts';
import { runMeasured } from './harness/measured.ts';
import { programs } from './harness/places.ts';
import type { Scenario, Size } from './harness/scenario.ts';

/*
 * Ten models of one base: a Llama architecture with random weights (F16) and adapters of rank 8 in all linear layers. Memory is
 * that of the engine's process after it has answered for ten models, compared with one. Choosing another model is the time to
 * its first token, compared with that of a merged file that must be loaded. The files are in the system's cache.
 */

const shapes: Record<Size, { hidden: number; layers: number }> = {
  full: { hidden: 1024, layers: 16 },
  quick: { hidden: 768, layers: 12 },
  test: { hidden: 256, layers: 2 },
};
const models = 10;

interface Said {
  readonly one: number;
  readonly ten: number;
  readonly choose: number;
  readonly text: string;
}

async function run(dir: string, side: 'shared' | 'merged'): Promise<Said> {
  const argv = ['--import', 'tsx', join(programs, 'adapters.ts'), dir, side];
  return JSON.parse((await runMeasured(process.execPath, argv)).stdout);
}

export const scenario: Scenario = {
  name: 'adapters',
  about: 'ten models of one base: memory, and choosing another one',
  runs: { full: 5, quick: 1 },
  warmUps: { full: 1, quick: 0 },
  prepare: async (input) => {
    const { hidden, layers } = shapes[input.size];
    await makeInputs('adapters_inputs.py', [String(hidden), String(layers)], input);
    const link = (from: string, to: string) => linkSync(join(input.dir, from), join(input.dir, to));
    for (let number = 0; number < models; number += 1) link('adapter.gguf', `adapter-${number}.gguf`);
    for (const number of [0, 1]) link('model.gguf', `merged-${number}.gguf`);
  },
  sides: [
    {
      name: 'hone',
      about: "the service's engine, ten adapters on one file",
      trial: async ({ dir }) => {
        const { one, ten, choose, text } = await run(dir, 'shared');
        return { figures: { choose, share: ten / one }, answer: text };
      },
    },
    {
      name: 'merged',
      about: 'the same engine, a merged file for each model',
      trial: async ({ dir }) => {
        const { choose, text } = await run(dir, 'merged');
        return { figures: { choose }, answer: text };
      },
    },
  ],
  comparisons: [
    {
      metric: 'first token of another model',
      figure: 'choose',
      unit: 'ms',
      better: 'less',
      peer: 'merged',
      goal: { share: 0.1 },
    },
    {
      metric: 'memory of ten models, of one = 1',
      figure: 'share',
      unit: '×',
      better: 'less',
      peer: null,
      goal: { atMost: 1.3 },
    },
  ],
};
