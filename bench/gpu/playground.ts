import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { makeInputs } from '../harness/inputs.ts';
import { runMeasured } from '../harness/measured.ts';
import { programs, python, pythonVersion, root } from '../harness/places.ts';
import type { Scenario, Size } from '../harness/scenario.ts';
import type { Device } from './device.ts';

/*
 * Tokens per second of one answer after its first token, with the model in Q8_0, as a training exports it unless told
 * otherwise, compared with transformers' generate in bfloat16 on the same GPU.
 */

const shapes: Record<Size, { readonly hidden: number; readonly layers: number; readonly tokens: number }> = {
  full: { hidden: 1536, layers: 24, tokens: 256 },
  quick: { hidden: 768, layers: 16, tokens: 128 },
  test: { hidden: 256, layers: 2, tokens: 6 },
};
const asked = [{ role: 'user', content: 'My parcel has not come.' }];

/** The scenario on `device`. */
export const playground = (device: Device): Scenario => ({
  name: 'gpu-playground',
  about: 'decoding of an answer on a GPU',
  runs: { full: 3, quick: 1 },
  warmUps: { full: 0, quick: 0 },
  prepare: async (input) => {
    const { hidden, layers } = shapes[input.size];
    await makeInputs('playground_inputs.py', [String(hidden), String(layers)], input);
    const files = [join(input.dir, 'model.gguf'), join(input.dir, 'model-Q8_0.gguf')];
    execFileSync(process.execPath, [join(root, 'dist', 'quantize.js'), ...files, 'Q8_0'], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  },
  sides: [
    {
      name: 'hone',
      about: "the service's engine, Q8_0",
      trial: async ({ dir, size }) => {
        const argv = ['--import', 'tsx', join(programs, 'playground.ts'), join(dir, 'model-Q8_0.gguf')];
        const { stdout } = await runMeasured(
          process.execPath,
          [...argv, join(dir, 'template.json'), String(shapes[size].tokens)],
          { input: JSON.stringify([asked]), env: { BENCH_DEVICE: device } },
        );
        const [said] = JSON.parse(stdout);
        const seconds = (said.durationMs - said.timeToFirstTokenMs) / 1000;
        return { figures: { rate: (said.generatedTokens - 1) / seconds }, answer: said.promptTokens };
      },
    },
    {
      name: 'transformers',
      about: async () => `generate of transformers ${await pythonVersion('transformers')}, bfloat16`,
      trial: async ({ dir, size }) => {
        const argv = [
          join(programs, 'playground_transformers.py'),
          join(dir, 'base'),
          String(shapes[size].tokens),
        ];
        const { stdout } = await runMeasured(python, argv, {
          input: JSON.stringify(asked),
          env: { BENCH_DEVICE: device, HF_HUB_OFFLINE: '1' },
        });
        const { rate, prompt } = JSON.parse(stdout);
        return { figures: { rate }, answer: prompt };
      },
    },
  ],
  comparisons: [
    {
      ...{ metric: 'decode', figure: 'rate', unit: 'tokens/s', better: 'more', peer: 'transformers' },
      goal: { times: 1 },
    },
  ],
});
