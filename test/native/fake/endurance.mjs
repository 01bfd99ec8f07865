/*
 * Samples as fast as it can and prints the resident memory, in bytes, after a fifth of the samples and at the
 * end:  node --expose-gc endurance.mjs ADDON SAMPLES
 */
import { createRequire } from 'node:module';

const [addonFile, samples] = process.argv.slice(2);
const addon = createRequire(import.meta.url)(addonFile);
const total = Number(samples);
let seen = 0;
let early = 0;

/** Frames of a batch, the dropped ones included: each frame begins with its length. */
function framesOf(batch) {
  let frames = batch[0];
  for (let at = 1; at < batch.length; at += batch[at]) frames += 1;
  return frames;
}

const alive = setInterval(() => {}, 1000);
const sampler = addon.startSampler({
  intervalMs: 0,
  batchMs: 0,
  gpus: true,
  host: { procStat: '/proc/stat', meminfo: '/proc/meminfo' },
  onBatch: (batch) => {
    seen += framesOf(batch);
    if (early === 0 && seen >= total / 5) {
      globalThis.gc();
      early = process.memoryUsage.rss();
    }
    if (seen < total) return;
    sampler.stop();
    clearInterval(alive);
    globalThis.gc();
    process.stdout.write(JSON.stringify({ early, end: process.memoryUsage.rss(), seen }));
  },
});
