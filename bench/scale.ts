import { join } from 'node:path';
import { runMeasured } from './harness/measured.ts';
import { missingPython, programs, python } from './harness/places.ts';
import type { Scenario } from './harness/scenario.ts';

/*
 * What several ranks cost, piece by piece: docs/scale.md calculates with it how far the design goes. Ranks are real, over
 * gloo; what they report goes through the code of rank 0's node and of the driver, and through a real Ray node.
 */

interface Measured {
  readonly ranks: readonly { readonly world: number; readonly calls: { readonly [name: string]: Call } }[];
  readonly reports: { readonly worlds: readonly { readonly line_seconds: number }[] };
}
interface Call {
  readonly seconds: number;
}

export const scenario: Scenario = {
  name: 'scale',
  about: 'what ranks say to each other and report to the driver',
  runs: { full: 1, quick: 1 },
  warmUps: { full: 0, quick: 0 },
  sides: [
    {
      name: 'hone',
      about: 'ranks over gloo, and a driver with a Ray node',
      missing: async () => (process.platform === 'linux' ? missingPython('ray') : 'it needs Linux'),
      async trial({ size }) {
        const { stdout } = await runMeasured(python, [join(programs, 'scale'), '--size', size]);
        const measured = JSON.parse(stdout.slice(stdout.trimEnd().lastIndexOf('\n') + 1)) as Measured;
        const two = measured.ranks[0]?.calls.decide as Call;
        const most = measured.reports.worlds.at(-1) as { line_seconds: number };
        return {
          figures: { decide: two.seconds * 1000, lines: 1 / most.line_seconds },
          answer: measured.ranks.map(({ world }) => world),
        };
      },
    },
  ],
  comparisons: [
    {
      ...{ metric: 'two ranks agree', figure: 'decide', unit: 'ms', better: 'less', peer: null },
      goal: { atMost: 3 },
    },
    {
      ...{ metric: 'metric lines a second of a run with the most ranks', figure: 'lines', unit: 'lines' },
      ...{ better: 'more', peer: null, goal: null },
    },
  ],
};
