/**
 * usage: sample.ts cpu SAMPLES      processor time of one sample of everything, in microseconds
 *        sample.ts stall WINDOWS    the longest pause of the event loop beside a sampler, in milliseconds
 *        sample.ts quiet WINDOWS    the same without a sampler
 * Prints JSON.
 */
import { readFileSync } from 'node:fs';
import { loadAddon } from '../../src/hardware/addon.ts';
import { unpackBatch } from '../../src/hardware/frames.ts';
import { hostSources, startSampler } from '../../src/hardware/sampler.ts';

const windowMs = 1500;
const [mode, count] = [process.argv[2], Number(process.argv[3])];

async function sampleMicroseconds(total: number): Promise<{ microseconds: number; gpus: number }> {
  const state = loadAddon();
  if (state.addon === null) throw new Error(state.reason);
  const { addon } = state;
  const host = await hostSources();
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

async function pause(windows: number, sampled: boolean): Promise<{ milliseconds: number }> {
  const sampler = sampled ? await startSampler({ hz: 5, onBatch: () => {} }) : null;
  let quietest = Number.POSITIVE_INFINITY;
  for (let window = 0; window < windows; window += 1) {
    quietest = Math.min(quietest, await longestPauseMs(windowMs));
  }
  sampler?.stop();
  return { milliseconds: quietest };
}

const result = mode === 'cpu' ? await sampleMicroseconds(count) : await pause(count, mode === 'stall');
process.stdout.write(JSON.stringify(result));
