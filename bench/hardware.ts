import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { fakeDriver } from '../test/native/fake/build.ts';

/*
 * What sampling costs:  npm run bench -- hardware [--quick]
 *
 * `sampleCpu`: processor time of one sample of everything, against that of one `nvidia-smi` query where there
 * is a GPU. Elsewhere a fake driver plays the GPU, and the rival is the cheapest process there is (`true`):
 * what any program that is started for a query costs at least.
 *
 * `stall`: the longest pause of the event loop while a driver takes 500 ms for every call, beside the longest
 * one without a sampler. Time in which other processes had the processor is taken off; what is left of the
 * machine's own pauses is in both, and the quietest of some windows is given.
 */

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly ours: number;
  readonly rival: number | null;
  readonly rivalName: string;
  /** How often ours fits into the rival's. */
  readonly ratio: number | null;
}

/** Runs the second half of this file as a process of its own and gives what it prints. */
function child(mode: string, env: Record<string, string | undefined>): number {
  const output = execFileSync(process.execPath, ['--import', 'tsx', import.meta.filename, '--child', mode], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  return Number(output);
}

/** Mean processor time of a program, in microseconds, over some runs. */
function programCpuMicroseconds(command: string, argv: string[], runs: number): number | null {
  const script = `
    const { spawnSync } = require('node:child_process');
    for (let i = 0; i < ${runs}; i += 1) if (spawnSync(${JSON.stringify(command)}, ${JSON.stringify(argv)}).status !== 0) process.exit(1);
  `;
  // The processor time of children is read from the shell's own account: Node gives only its own.
  const timed = spawnSync('sh', ['-c', '"$@" && times', 'sh', process.execPath, '-e', script], {
    encoding: 'utf8',
  });
  const idle = spawnSync('sh', ['-c', '"$@" && times', 'sh', process.execPath, '-e', ''], {
    encoding: 'utf8',
  });
  const total = childSeconds(timed.stdout);
  const start = childSeconds(idle.stdout);
  return timed.status !== 0 || total === null || start === null ? null : ((total - start) * 1e6) / runs;
}

/** The second line of `times`: user and system time of all children, such as `0m1.20s 0m0.31s`. */
function childSeconds(output: string): number | null {
  const line = output.trim().split('\n').at(-1) ?? '';
  const parts = [...line.matchAll(/(\d+)m([\d.]+)s/g)];
  return parts.length === 2
    ? parts.reduce((sum, part) => sum + Number(part[1]) * 60 + Number(part[2]), 0)
    : null;
}

export async function run({ quick = false } = {}): Promise<Figure[]> {
  const hasGpu = spawnSync('nvidia-smi', ['-L']).status === 0;
  const driver = fakeDriver('modern');
  const samples = quick ? '2000' : '20000';
  try {
    const playing = hasGpu ? {} : { LD_LIBRARY_PATH: driver };
    const sample = child('cpu', { ...playing, SAMPLES: samples });
    const query =
      'utilization.gpu,utilization.memory,memory.used,memory.total,temperature.gpu,power.draw,clocks.sm,clocks.mem';
    const rival = hasGpu
      ? programCpuMicroseconds('nvidia-smi', [`--query-gpu=${query}`, '--format=csv'], quick ? 3 : 10)
      : programCpuMicroseconds('true', [], quick ? 50 : 200);
    const windows = quick ? '2' : '6';
    const slow = { LD_LIBRARY_PATH: driver, FAKE_GPU_DELAY_MS: '500', WINDOWS: windows };
    const stall = child('stall', slow);
    const quiet = child('quiet', slow);
    return [
      {
        name: 'sampleCpu',
        unit: 'µs of processor time',
        ours: sample,
        rival,
        rivalName: hasGpu ? 'nvidia-smi query' : 'starting and ending `true`',
        ratio: rival === null ? null : rival / sample,
      },
      {
        name: 'stall',
        unit: 'ms, longest pause of the event loop',
        ours: stall,
        rival: quiet,
        rivalName: 'no sampler',
        ratio: quiet / stall,
      },
    ];
  } finally {
    rmSync(driver, { recursive: true, force: true });
  }
}

/** The longest pause of a busy event loop within the time. Its own path allocates nothing, to need no GC. */
function longestPauseMs(forMs: number): Promise<number> {
  return new Promise((done) => {
    let longest = 0;
    let waited = runQueueMs();
    const begun = performance.now();
    let last = begun;
    const turn = () => {
      const now = performance.now();
      if (now - last > longest) {
        const waitedNow = runQueueMs();
        longest = Math.max(longest, now - last - (waitedNow - waited));
        waited = waitedNow;
        last = performance.now();
      } else {
        last = now;
      }
      if (now - begun > forMs) done(longest);
      else setImmediate(turn);
    };
    setImmediate(turn);
  });
}

/**
 * How long this thread has been ready and waiting for a processor, which is the doing of others; 0 where the
 * system does not say. Waiting for a lock or a driver is not in it, and remains in the pause.
 */
function runQueueMs(): number {
  if (process.platform !== 'linux') return 0;
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
}

async function childMain(mode: string): Promise<void> {
  const { startSampler, hostSources } = await import('../src/hardware/sampler.ts');
  if (mode === 'cpu') {
    const { loadAddon } = await import('../src/hardware/addon.ts');
    const { unpackBatch } = await import('../src/hardware/frames.ts');
    const state = loadAddon();
    if (state.addon === null) throw new Error(state.reason);
    const total = Number(process.env.SAMPLES);
    const alive = setInterval(() => {}, 1000);
    let seen = -1;
    let before = process.cpuUsage();
    const sampler = state.addon.startSampler({
      intervalMs: 0,
      batchMs: 0,
      gpus: true,
      host: await hostSources(),
      onBatch: (batch) => {
        const { frames, dropped } = unpackBatch(batch);
        if (seen < 0) before = process.cpuUsage(); // opening the driver is not sampling
        seen = Math.max(0, seen) + frames.length + dropped;
        if (seen < total) return;
        sampler.stop();
        clearInterval(alive);
        const used = process.cpuUsage(before);
        process.stdout.write(String((used.user + used.system) / seen));
      },
    });
    return;
  }
  const windows = Number(process.env.WINDOWS);
  const sampler = mode === 'stall' ? await startSampler({ hz: 5, onBatch: () => {} }) : null;
  let quietest = Infinity;
  for (let window = 0; window < windows; window += 1) {
    quietest = Math.min(quietest, await longestPauseMs(1500));
  }
  sampler?.stop();
  process.stdout.write(String(quietest));
}

if (process.argv[2] === '--child') {
  await childMain(process.argv[3] ?? '');
}
