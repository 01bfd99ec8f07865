import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { platformCacheDir } from '../src/config.ts';
import { packagedModel } from '../src/demo/packaged-model.ts';
import { runMeasured } from './harness/measured.ts';
import { programs, python } from './harness/places.ts';
import type { Comparison, Scenario, Size } from './harness/scenario.ts';
import { summarize } from './harness/statistics.ts';

/*
 * What a schema and tools cost beside text: SmolLM2 135M with Qwen2.5's chat template, since a model of random weights
 * writes nothing that a grammar allows. The answers are of one process and take turns.
 */

const times: Record<Size, number> = { full: 8, quick: 3, test: 1 };
/** Qwen2.5's template is among TRL's. */
const template =
  'import pathlib, trl; print((pathlib.Path(trl.__file__).parent / "chat_templates/qwen2_5.jinja").read_text())';
const templatePath = (dir: string) => join(dir, 'template.json');

interface Run {
  readonly free: number;
  readonly held: number;
  readonly said: number;
  readonly called: number;
  readonly readingMs: number;
  readonly decodingMs: number;
}

const goal = (metric: string, figure: string, unit: string, atMost: number): Comparison => ({
  ...{ metric, figure, unit, better: 'less', peer: null, goal: { atMost } },
});

export const scenario: Scenario = {
  name: 'calls',
  about:
    'tokens of a schema with ten fields, the first part of a call, and the reading of calls, beside text',
  runs: { full: 3, quick: 1 },
  warmUps: { full: 0, quick: 0 },
  prepare: async ({ dir }) => {
    const { stdout } = await runMeasured(python, ['-c', template]);
    const tokens = { bos_token: '<|im_start|>', eos_token: '<|im_end|>', stop: ['<|im_end|>'] };
    writeFileSync(
      templatePath(dir),
      JSON.stringify({ chat_template: stdout, ...tokens, context_length: 2048 }),
    );
  },
  sides: [
    {
      name: 'hone',
      about: "the service's engine",
      trial: async ({ dir, size }) => {
        const cacheDir = platformCacheDir(process.env, process.platform);
        const model = await packagedModel('smollm2', { pythonPath: python, cacheDir });
        const argv = ['--import', 'tsx', join(programs, 'calls.ts'), model, templatePath(dir)];
        const { stdout } = await runMeasured(process.execPath, [...argv, String(times[size])]);
        const runs = JSON.parse(stdout) as Run[];
        const middle = (of: (run: Run) => number) => summarize(runs.map(of)).median;
        const least = (of: (run: Run) => number) => Math.min(...runs.map(of));
        return {
          figures: {
            schema: middle(({ free, held }) => free / held),
            // A prompt takes seconds, to which the load of others only adds.
            first: least(({ called }) => called) / least(({ said }) => said),
            reading: middle(({ readingMs, decodingMs }) => (100 * readingMs) / decodingMs),
          },
          answer: null,
        };
      },
    },
  ],
  comparisons: [
    goal('time of a token of a schema with ten fields, of text = 1', 'schema', '×', 1.15),
    goal('first part of a call, of text = 1', 'first', '×', 1.1),
    goal('reading a call, of decoding it', 'reading', '%', 1),
  ],
};
