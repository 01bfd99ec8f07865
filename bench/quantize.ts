import { statSync } from 'node:fs';
import { join } from 'node:path';
import { writeTinyGguf } from '../test/native/tiny-gguf.ts';
import { runMeasured } from './harness/measured.ts';
import { missingPython, programs, python, pythonVersion, root } from './harness/places.ts';
import type { Scenario, Size } from './harness/scenario.ts';

/*
 * Speed of GGUF quantization. The peer is gguf-py, the Python package with which llama.cpp's converter writes Q8_0, on
 * the same tensors, already in memory. Both write and sync a file, on one thread, and must write the same bytes. The
 * other types have no peer in Python.
 */

const types = ['Q8_0', 'Q4_0', 'Q4_K_M', 'IQ4_XS'] as const;
const shapes: Record<Size, { width: number; layers: number }> = {
  full: { width: 1024, layers: 4 },
  quick: { width: 512, layers: 2 },
  test: { width: 256, layers: 1 },
};
const ggufPy = join(root, 'build', 'llama.cpp', 'gguf-py');
const reader = join(programs, 'gguf_tensors.py');
const model = (dir: string) => join(dir, 'model.gguf');
const megabytes = (dir: string) => statSync(model(dir)).size / 1e6;

export const scenario: Scenario = {
  name: 'quantize',
  about: 'megabytes of 32-bit floats quantized per CPU second',
  runs: { full: 3, quick: 2 },
  warmUps: { full: 0, quick: 0 },
  prepare: async ({ dir, size }) => {
    const { width, layers } = shapes[size];
    writeTinyGguf(model(dir), { width, feedForward: 4 * width, layers });
  },
  sides: [
    {
      name: 'hone',
      about: "the engine's own libllama, called through the addon",
      trial: async ({ dir }) => {
        const output = join(dir, 'ours');
        const argv = ['--import', 'tsx', join(programs, 'quantize.ts'), model(dir), output, ...types];
        const cpuSeconds = JSON.parse((await runMeasured(process.execPath, argv)).stdout);
        const { stdout } = await runMeasured(python, [reader, ggufPy, 'digest', `${output}.Q8_0`]);
        const figures = Object.fromEntries(types.map((type) => [type, megabytes(dir) / cpuSeconds[type]]));
        return { figures, answer: JSON.parse(stdout).digest };
      },
    },
    {
      name: 'gguf-py',
      about: async () => `gguf-py of the engine's release, numpy ${await pythonVersion('numpy')}`,
      missing: () => missingPython('numpy'),
      trial: async ({ dir }) => {
        const argv = [reader, ggufPy, 'quantize', model(dir), join(dir, 'theirs')];
        const { stdout } = await runMeasured(python, argv, { env: { OMP_NUM_THREADS: '1' } });
        const { cpu_seconds, digest } = JSON.parse(stdout);
        return { figures: { Q8_0: megabytes(dir) / cpu_seconds }, answer: digest };
      },
    },
  ],
  comparisons: types.map((type) => ({
    metric: `${type} per CPU second`,
    figure: type,
    unit: 'MB',
    better: 'more' as const,
    peer: type === 'Q8_0' ? 'gguf-py' : null,
    goal: null,
  })),
};
