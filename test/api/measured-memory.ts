/** A training's estimate of memory, and what it really takes at its peak. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import * as assert from 'uvu/assert';
import { quickRequest, startService, type TestService, trainersOf, until, untilEnded } from '../service.ts';

/** How far the estimate may lie from the peak, either way. */
export const factor = 1.5;
/** The same for what a larger step adds to a smaller one, where the libraries' own memory does not help. */
export const growthFactor = 2;

/** A service with long rows to train on. */
export async function estimatingService(): Promise<TestService> {
  const service = await startService();
  const words = ['parcel', 'invoice', 'shipping', 'box', 'order', 'password', 'account', 'card'];
  const rows = Array.from({ length: 40 }, (_, row) => {
    const said = Array.from({ length: 800 }, (_, place) => words[(row * 31 + place * 7) % words.length]);
    return JSON.stringify({ input: 'Say it.', output: said.join(' ') });
  });
  await service.upload('long.jsonl', rows.join('\n'));
  return service;
}

/** What a process has held at its peak. */
interface Peak {
  /** The most that a process has held so far, in bytes. */
  readonly peak: number;
  /**
   * The most that was seen without what it has mapped of files. How much of a library is resident once a part of it is read
   * depends on the page cache, by hundreds of megabytes, and grows until the end.
   */
  readonly own: number;
}

function peakOf(pid: number): Peak {
  const status = `/proc/${pid}/status`;
  if (existsSync(status)) {
    const text = readFileSync(status, 'utf8');
    const bytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(text)?.[1] ?? 0) * 1024;
    return { peak: bytes('VmHWM'), own: bytes('RssAnon') + bytes('RssShmem') };
  }
  const peak = Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) * 1024;
  return { peak, own: peak };
}

/** The pid of the service's new trainer; the one before it may not have exited yet. */
const untilTrainer = (service: TestService, earlier: readonly number[]): Promise<number> =>
  until(
    () => trainersOf(service.dataDir).find((pid) => !earlier.includes(pid)) ?? 0,
    'there is a new trainer',
  );

/** Estimates a training, then runs it. */
export async function measure(service: TestService, changes: object): Promise<Peak & { estimated: number }> {
  const request = quickRequest({ dataset: 'long.jsonl', max_steps: 2, export: 'none', ...changes });
  const { body } = await service.call('POST', '/api/estimate', request);
  const earlier = trainersOf(service.dataDir);
  assert.is((await service.call('POST', '/api/start_training', request)).status, 200);
  const pid = await untilTrainer(service, earlier);
  let most: Peak = { peak: 0, own: 0 };
  const watch = setInterval(() => {
    try {
      const { peak, own } = peakOf(pid);
      most = { peak: Math.max(most.peak, peak), own: Math.max(most.own, own) };
    } catch {
      // It has just ended.
    }
  }, 5);
  const ended = await untilEnded(service).finally(() => clearInterval(watch));
  assert.is(ended.status, 'completed', JSON.stringify(ended));
  console.log(
    `    estimated ${Math.round(body.memory.total_bytes / 1e6)} MB, took ${Math.round(most.peak / 1e6)} MB, ${Math.round(most.own / 1e6)} MB of it its own`,
  );
  return { ...most, estimated: body.memory.total_bytes };
}

/** Fails where the estimate is further than `bound` times from what was taken. */
export const within = (estimated: number, real: number, bound: number) =>
  assert.ok(
    estimated < real * bound && estimated > real / bound,
    `${Math.round(estimated / 1e6)} MB were estimated, and it took ${Math.round(real / 1e6)} MB`,
  );
