import { runMeasured } from './harness/measured.ts';
import { python, root } from './harness/places.ts';
import type { Scenario, Side, Size } from './harness/scenario.ts';

/*
 * A grader in Python that compares two short texts: in its enclosed process, and as a function of the calling one.
 */

const calls: Record<Size, number> = { full: 20_000, quick: 5_000, test: 100 };

const side = (name: string, about: string, which: 'cage' | 'function'): Side => ({
  name,
  about,
  async trial({ size }) {
    const { stdout } = await runMeasured(python, ['bench/programs/cage.py', which, String(calls[size])], {
      env: { PYTHONPATH: root },
    });
    const { first, call, total } = JSON.parse(stdout) as { first: number; call: number; total: number };
    return { figures: { first, call }, answer: total };
  },
});

export const scenario: Scenario = {
  name: 'cage',
  about: 'calls of a grader in Python',
  sides: [
    side('hone', 'an enclosed process', 'cage'),
    side('function', 'a function of the same process', 'function'),
  ],
  comparisons: [
    {
      metric: 'call after the first',
      figure: 'call',
      unit: 'ms',
      better: 'less',
      peer: null,
      goal: { atMost: 5 },
    },
    {
      metric: 'call after the first',
      figure: 'call',
      unit: 'ms',
      better: 'less',
      peer: 'function',
      goal: null,
    },
    { metric: 'start and first call', figure: 'first', unit: 'ms', better: 'less', peer: null, goal: null },
  ],
};
