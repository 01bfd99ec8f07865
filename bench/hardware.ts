import { spawnSync } from 'node:child_process';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { fakeDriver, loopWatch } from '../test/native/fake/build.ts';
import { runMeasured } from './harness/measured.ts';
import { programs } from './harness/places.ts';
import type { Scenario, Side, Size, TrialInput } from './harness/scenario.ts';

/*
 * The cost of sampling. `sample`: CPU time of one complete sample, compared with one `nvidia-smi` query. Without a GPU,
 * a fake driver is used, and the cheapest process (`true`) shows the minimum cost of starting any program for a query.
 *
 * `driverWait`: how long the event loop thread waits for a driver call at most, in the worst of all runs, while every
 * call takes 500 ms, samplers are started and stopped, and GPU facts are requested. A separate watcher
 * (test/native/fake/loop-watch.c) distinguishes waiting from running and from being runnable, so that other load on the
 * machine does not count. Two controls verify in each run that it detects a driver call: a call on the loop's own
 * thread, and a lock held by a thread that is inside the driver.
 *
 * `wait`: the same for any wait of the loop. Occasionally that is, presumably, the lock with which Node hands over a
 * batch, when its holder was just preempted. V8's helper threads are disabled, because the loop waits up to 4 ms for
 * them during garbage collection. `turn`: the cost of a loop iteration that runs sampler code (CPU time and waiting),
 * compared with an empty timer callback and the controls.
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

/** Runs a mode of programs/loop.ts with a slow driver. */
const watch = (mode: string, { dir, size }: TrialInput): Promise<Watched> =>
  run('loop.ts', [mode, String(watchedMs[size]), join(dir, 'loop-watch.node')], {
    LD_LIBRARY_PATH: driver(dir),
    FAKE_GPU_DELAY_MS: String(callMs),
  });

/** A side that only runs the watcher. */
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
  about: 'one sample of CPU, memory and GPU; and the effect of a slow driver on the event loop',
  prepare: async ({ dir }) => {
    renameSync(fakeDriver('modern'), driver(dir));
    loopWatch(dir);
  },
  runs: { full: 4, quick: 2 },
  warmUps: { full: 0, quick: 0 },
  sides: [
    {
      name: 'hone',
      about: () => `the addon, on ${hasGpu() ? "the machine's own GPU" : 'a fake driver (no GPU)'}`,
      missing: () => (process.platform === 'linux' ? null : 'the fake driver and the watcher need Linux'),
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
      about: 'one query of the same metrics',
      missing: () => (hasGpu() ? null : 'no NVIDIA GPU, or no nvidia-smi (part of its driver)'),
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
      about: 'starting a program that exits immediately',
      trial: async () => {
        const script = `i=0; while [ $i -lt ${startsOfTrue} ]; do /bin/true; i=$((i + 1)); done`;
        const { cpuSeconds } = await runMeasured('sh', ['-c', script]);
        return { figures: { sample: (cpuSeconds / startsOfTrue) * 1e6 }, answer: null };
      },
    },
    watched('empty timer', 'timer', 'an empty callback at the rate of batches'),
    watched('driver on the loop', 'driver', 'control: one driver call on the event loop thread'),
    watched('driver lock', 'lock', 'control: a lock held by another thread during one driver call'),
  ],
  check: ({ hone, 'nvidia-smi': other, ...rest }) => {
    const [ours, theirs] = [hone, other] as { gpus: number; frames: number }[];
    if ((ours?.gpus ?? 0) < 1) throw new Error('No GPU was sampled');
    if ((ours?.frames ?? 0) < 1) throw new Error('No frame arrived while the driver was slow');
    if (theirs !== undefined && theirs.gpus !== ours?.gpus) {
      throw new Error(`${ours?.gpus} GPUs were sampled, but nvidia-smi lists ${theirs.gpus}`);
    }
    for (const control of ['driver on the loop', 'driver lock']) {
      const { longestDriverWait } = rest[control] as { longestDriverWait: number };
      // The call sleeps; on another clock it may appear slightly shorter.
      if (longestDriverWait < 0.95 * callMs) {
        throw new Error(
          `The watcher missed the control "${control}": it measured a wait of ${longestDriverWait} ms`,
        );
      }
    }
  },
  comparisons: [
    {
      metric: 'CPU per sample',
      figure: 'sample',
      unit: 'µs',
      better: 'less',
      peer: 'nvidia-smi',
      goal: { share: 0.01 },
    },
    { metric: 'CPU per sample', figure: 'sample', unit: 'µs', better: 'less', peer: 'true', goal: null },
    {
      metric: 'longest event loop wait for the driver, worst run',
      figure: 'driverWait',
      unit: 'ms',
      better: 'less',
      peer: null,
      goal: { below: 0.1 },
      worst: true,
    },
    {
      metric: 'longest event loop wait for anything, worst run',
      figure: 'wait',
      unit: 'ms',
      better: 'less',
      peer: null,
      goal: null,
      worst: true,
    },
    ...['empty timer', 'driver on the loop', 'driver lock'].map((peer) => ({
      metric: 'event loop iteration',
      figure: 'turn',
      unit: 'µs',
      better: 'less' as const,
      peer,
      goal: null,
    })),
  ],
};
