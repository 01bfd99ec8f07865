/**
 * usage: loop.ts sampler|timer|driver|lock MILLISECONDS WATCHER
 *
 * Runs a workload on the event loop for the given time and prints as JSON what it cost the loop, as measured by
 * test/native/fake/loop-watch.c:
 *
 *   sampler  samples at 5 Hz; meanwhile other samplers are started and stopped, and GPU facts are requested
 *   timer    runs an empty callback at 5 Hz: the minimum cost of any work
 *   driver   control: calls the driver once on the loop's own thread
 *   lock     control: waits once for a lock that another thread holds while it calls the driver
 */
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { readGpuFacts } from '../../src/hardware/gpu-facts.ts';
import { startSampler } from '../../src/hardware/sampler.ts';
import { loadAddon } from '../../src/native/addon.ts';

interface Watcher {
  start(): void;
  mark(): void;
  stop(): object;
  callDriver(): void;
  awaitDriver(): void;
}

const [mode, forMs, file] = [process.argv[2], Number(process.argv[3]), process.argv[4] ?? ''];
const watcher = createRequire(import.meta.url)(file) as Watcher;
const intervalMs = 200;
const restartMs = 500;
const patienceMs = 2000;

let frames = 0;
const start = () =>
  startSampler({
    onBatch: (batch) => {
      watcher.mark();
      frames += batch.length;
    },
  });

let answers = 0;
let isAsked = false;
async function askForFacts(): Promise<void> {
  if (isAsked) return;
  isAsked = true;
  await readGpuFacts(loadAddon(), patienceMs);
  watcher.mark();
  isAsked = false;
  answers += 1;
}

async function sample(): Promise<void> {
  const steady = start();
  if (steady.reason !== null) throw new Error(steady.reason);
  for (const end = performance.now() + forMs; performance.now() < end; ) {
    watcher.mark();
    void askForFacts();
    const brief = start();
    await sleep(restartMs);
    watcher.mark();
    brief.stop();
  }
  steady.stop();
}

const modes: Record<string, () => Promise<void>> = {
  sampler: sample,
  timer: async () => {
    const timer = setInterval(watcher.mark, intervalMs);
    await sleep(forMs);
    clearInterval(timer);
  },
  driver: async () => {
    await sleep(0);
    watcher.mark();
    watcher.callDriver();
  },
  lock: async () => {
    await sleep(0);
    watcher.mark();
    watcher.awaitDriver();
  },
};

const work = modes[mode ?? ''];
if (work === undefined) throw new Error(`There is no mode ${mode}`);
watcher.start();
await work();
await sleep(20); // so that the last iteration is reported, too
process.stdout.write(`${JSON.stringify({ ...watcher.stop(), frames, answers })}\n`);
process.exit(0); // some threads are still in the driver
