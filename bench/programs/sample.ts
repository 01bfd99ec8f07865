/**
 * usage: sample.ts SAMPLES
 * Prints as JSON the processor time of one sample of everything, in microseconds, and how many GPUs were sampled.
 */
import { loadAddon } from '../../src/hardware/addon.ts';
import { unpackBatch } from '../../src/hardware/frames.ts';
import { hostSources } from '../../src/hardware/sampler.ts';

async function sampleMicroseconds(total: number): Promise<{ microseconds: number; gpus: number }> {
  const state = loadAddon();
  if (state.addon === null) throw new Error(state.reason);
  const { addon } = state;
  const host = hostSources();
  const alive = setInterval(() => {}, 1000);
  return new Promise((done) => {
    let seen = -1;
    let gpus = 0;
    let before = process.cpuUsage();
    const sampler = addon.startSampler({
      intervalMs: 0,
      batchMs: 0,
      gpus: true,
      host,
      onBatch: (batch) => {
        const { frames, dropped } = unpackBatch(batch);
        if (seen < 0) before = process.cpuUsage(); // opening the driver is not sampling
        seen = Math.max(0, seen) + frames.length + dropped;
        gpus = frames.at(-1)?.gpus.length ?? gpus;
        if (seen < total) return;
        sampler.stop();
        clearInterval(alive);
        const { user, system } = process.cpuUsage(before);
        done({ microseconds: (user + system) / seen, gpus });
      },
    });
  });
}

process.stdout.write(JSON.stringify(await sampleMicroseconds(Number(process.argv[2]))));
