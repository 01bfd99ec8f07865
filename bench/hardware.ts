import { spawnSync } from 'node:child_process';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { fakeDriver, loopWatch } from '../test/native/fake/build.ts';
import { runMeasured } from './harness/measured.ts';
import { programs } from './harness/places.ts';
import type { Scenario, Side, Size, TrialInput } from './harness/scenario.ts';

/*
 * What sampling costs. `sample`: processor time of one sample of everything, against that of one `nvidia-smi`
 * query. Where there is no GPU a fake driver plays one, and the cheapest process there is (`true`) shows what any
 * program that is started for a query costs at least.
 *
 * `driverWait`: the longest wait of the event loop's thread for a call of the driver, the worst of all runs, while
 * every call takes 500 ms, samplers come and go, and facts are asked for. A watcher of its own
 * (test/native/fake/loop-watch.c) tells waiting from working and from being ready while other processes have the
 * processor, so that a busy machine does not count. That it catches a driver is shown each time by two controls: the
 * driver called on the loop's thread, and a lock held by a thread that is inside the driver.
 *
 * `wait`: the same for whatever the loop waits. Now and then that is, presumably, the lock in which Node hands a batch
 * over, whose holder lost the processor just then. V8's helpers are off: a loop waits for them up to 4 ms when garbage is
 * collected. `turn`: what a turn costs in which anything of the sampler runs (processor time and waiting), beside an
 * empty callback of a timer and the controls.
 */

const query =
  'utilization.gpu,utilization.memory,memory.used,memory.total,temperature.gpu,power.draw,clocks.sm,clocks.mem';
const samples: Record<Size, number> = { full: 20_000, quick: 2_000, test: 200 };
const watchedMs: Record<Size, number> = { full: 8_000, quick: 2_000, test: 1_000 };
const callMs = 500;
const startsOfTrue = 50;
const hasGpu = () => spawnSync('nvidia-smi', ['-L']).status === 0;
const driver = (dir: string) => join(dir, 'driver');

async function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv) {
  const argv = ['--single-threaded-gc', '--import', 'tsx', join(programs, program), ...args];
  return JSON.parse((await runMeasured(process.execPath, argv, { env })).stdout);
}

interface Watched {
  readonly marked: number;
  readonly longestWait: number;
  readonly longestDriverWait: number;
  readonly median: number;
  readonly frames: number;
}

/** Runs a mode of programs/loop.ts beside a driver that is slow. */
const watch = (mode: string, { dir, size }: TrialInput): Promise<Watched> =>
  run('loop.ts', [mode, String(watchedMs[size]), join(dir, 'loop-watch.node')], {
    LD_LIBRARY_PATH: driver(dir),
    FAKE_GPU_DELAY_MS: String(callMs),
  });

/** A side that is there to be watched alone. */
const watched = (name: string, mode: string, about: string): Side => ({
  name,
  about,
  trial: async (input) => {
    const { longestDriverWait, median } = await watch(mode, input);
    return { figures: { turn: median * 1000 }, answer: { longestDriverWait } };
  },
});

export const scenario: Scenario = {
  name: 'hardware',
  about: 'one sample of processor, memory and GPU; and what a slow driver does to the service',
  prepare: async ({ dir }) => {
    renameSync(fakeDriver('modern'), driver(dir));
    loopWatch(dir);
  },
  runs: { full: 4, quick: 2 },
  warmUps: { full: 0, quick: 0 },
  sides: [
    {
      name: 'hone',
      about: () =>
        `the addon, on ${hasGpu() ? "the machine's own GPU" : 'a fake driver: there is no GPU here'}`,
      missing: () => (process.platform === 'linux' ? null : 'the fake driver and the watcher are for Linux'),
      trial: async (input) => {
        const playing: NodeJS.ProcessEnv = hasGpu() ? {} : { LD_LIBRARY_PATH: driver(input.dir) };
        const { microseconds, gpus } = await run('sample.ts', [String(samples[input.size])], playing);
        const { longestWait, longestDriverWait, median, frames } = await watch('sampler', input);
        return {
          figures: {
            sample: microseconds,
            wait: longestWait,
            driverWait: longestDriverWait,
            turn: median * 1000,
          },
          answer: { gpus, frames },
        };
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
    watched('empty timer', 'timer', 'a callback that does nothing, as often as a batch comes'),
    watched('driver on the loop', 'driver', 'control: one call of the driver by the thread of the loop'),
    watched('lock of the driver', 'lock', 'control: a lock held by another thread during one call'),
  ],
  check: ({ hone, 'nvidia-smi': other, ...rest }) => {
    const [ours, theirs] = [hone, other] as { gpus: number; frames: number }[];
    if ((ours?.gpus ?? 0) < 1) throw new Error('No GPU was sampled');
    if ((ours?.frames ?? 0) < 1) throw new Error('No frame came from beside the slow driver');
    if (theirs !== undefined && theirs.gpus !== ours?.gpus) {
      throw new Error(`${ours?.gpus} GPUs were sampled, and nvidia-smi tells of ${theirs.gpus}`);
    }
    for (const control of ['driver on the loop', 'lock of the driver']) {
      const { longestDriverWait } = rest[control] as { longestDriverWait: number };
      // The call sleeps; its end may be seen by a hair early on another clock.
      if (longestDriverWait < 0.95 * callMs) {
        throw new Error(`The watcher is blind: ${control} made the loop wait ${longestDriverWait} ms`);
      }
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
      metric: "the loop's longest wait for the driver, worst run",
      figure: 'driverWait',
      unit: 'ms',
      better: 'less',
      peer: null,
      goal: { below: 0.1 },
      worst: true,
    },
    {
      metric: "the loop's longest wait for anything, worst run",
      figure: 'wait',
      unit: 'ms',
      better: 'less',
      peer: null,
      goal: null,
      worst: true,
    },
    ...['empty timer', 'driver on the loop', 'lock of the driver'].map((peer) => ({
      metric: 'a turn of the loop',
      figure: 'turn',
      unit: 'µs',
      better: 'less' as const,
      peer,
      goal: null,
    })),
  ],
};
