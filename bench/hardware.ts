import { spawnSync } from 'node:child_process';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { fakeDriver } from '../test/native/fake/build.ts';
import { runMeasured } from './harness/measured.ts';
import { programs } from './harness/places.ts';
import type { Scenario, Size } from './harness/scenario.ts';

/*
 * What sampling costs. `sample`: processor time of one sample of everything, against that of one `nvidia-smi`
 * query. Where there is no GPU a fake driver plays one, and the cheapest process there is (`true`) shows what any
 * program that is started for a query costs at least.
 *
 * `stall`: the longest pause of the event loop while a driver takes 500 ms for every call, beside the longest one
 * without a sampler. Time in which other processes had the processor is taken off; what is left of the machine's
 * own pauses is in both, and the quietest of some windows is given.
 */

const query =
  'utilization.gpu,utilization.memory,memory.used,memory.total,temperature.gpu,power.draw,clocks.sm,clocks.mem';
const samples: Record<Size, number> = { full: 20_000, quick: 2_000, test: 200 };
const windows: Record<Size, number> = { full: 10, quick: 4, test: 1 };
const startsOfTrue = 50;
const hasGpu = () => spawnSync('nvidia-smi', ['-L']).status === 0;
const driver = (dir: string) => join(dir, 'driver');

async function sample(mode: string, count: number, env: NodeJS.ProcessEnv) {
  const argv = ['--import', 'tsx', join(programs, 'sample.ts'), mode, String(count)];
  return JSON.parse((await runMeasured(process.execPath, argv, { env })).stdout);
}

const slow = (dir: string) => ({ LD_LIBRARY_PATH: driver(dir), FAKE_GPU_DELAY_MS: '500' });

export const scenario: Scenario = {
  name: 'hardware',
  about: 'one sample of processor, memory and GPU; and what a slow driver does to the service',
  prepare: async ({ dir }) => renameSync(fakeDriver('modern'), driver(dir)),
  runs: { full: 3, quick: 3 },
  warmUps: { full: 1, quick: 0 },
  sides: [
    {
      name: 'hone',
      about: () =>
        `the addon, on ${hasGpu() ? "the machine's own GPU" : 'a fake driver: there is no GPU here'}`,
      trial: async ({ dir, size }) => {
        const playing: NodeJS.ProcessEnv = hasGpu() ? {} : { LD_LIBRARY_PATH: driver(dir) };
        const { microseconds, gpus } = await sample('cpu', samples[size], playing);
        const stall = await sample('stall', windows[size], slow(dir));
        return { figures: { sample: microseconds, stall: stall.milliseconds }, answer: { gpus } };
      },
    },
    {
      name: 'nvidia-smi',
      about: 'one query of the same figures',
      missing: () => (hasGpu() ? null : 'there is no NVIDIA GPU here, or no nvidia-smi (part of its driver)'),
      trial: async () => {
        const run = await runMeasured('nvidia-smi', [`--query-gpu=${query}`, '--format=csv,noheader']);
        return {
          figures: { sample: run.cpuSeconds * 1e6 },
          answer: { gpus: run.stdout.trim().split('\n').length },
        };
      },
    },
    {
      name: 'true',
      about: 'starting and ending a program that does nothing',
      trial: async () => {
        const script = `i=0; while [ $i -lt ${startsOfTrue} ]; do /bin/true; i=$((i + 1)); done`;
        const { cpuSeconds } = await runMeasured('sh', ['-c', script]);
        return { figures: { sample: (cpuSeconds / startsOfTrue) * 1e6 }, answer: null };
      },
    },
    {
      name: 'no sampler',
      about: 'the same program, which samples nothing',
      trial: async ({ dir, size }) => {
        const { milliseconds } = await sample('quiet', windows[size], slow(dir));
        return { figures: { stall: milliseconds }, answer: null };
      },
    },
  ],
  check: ({ hone, 'nvidia-smi': other }) => {
    const [ours, theirs] = [hone, other] as { gpus: number }[];
    if ((ours?.gpus ?? 0) < 1) throw new Error('No GPU was sampled');
    if (theirs !== undefined && theirs.gpus !== ours?.gpus) {
      throw new Error(`${ours?.gpus} GPUs were sampled, and nvidia-smi tells of ${theirs.gpus}`);
    }
  },
  comparisons: [
    {
      metric: 'CPU of a sample',
      figure: 'sample',
      unit: 'µs',
      better: 'less',
      peer: 'nvidia-smi',
      goal: { share: 0.01 },
    },
    { metric: 'CPU of a sample', figure: 'sample', unit: 'µs', better: 'less', peer: 'true', goal: null },
    {
      metric: 'pause by a slow driver',
      figure: 'stall',
      unit: 'ms',
      better: 'less',
      peer: 'no sampler',
      goal: null,
    },
  ],
};
