/**
 * usage: sample.ts SAMPLES
 * Prints as JSON the CPU time of one complete sample, in microseconds, and the number of GPUs sampled.
 */

import { unpackBatch } from '../../src/hardware/sample.ts';
import { hostSources } from '../../src/hardware/sampler.ts';
import { loadAddon } from '../../src/native/addon.ts';

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
        const { samples, dropped } = unpackBatch(batch);
        if (seen < 0) before = process.cpuUsage(); // opening the driver is not part of sampling
        seen = Math.max(0, seen) + samples.length + dropped;
        gpus = samples.at(-1)?.gpus.length ?? gpus;
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
