import { statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { threadsFor } from '../../src/inference/worker/threads.ts';
import { compiled } from './compiled.ts';
import { runMeasured } from './measured.ts';
import type { Comparison, Side, Size } from './scenario.ts';

/*
 * Decoding reads all weights for each token, so memory bounds it. Tokens per second times the bytes of the file are
 * compared with the bytes per second that a program reads on as many threads: a side and a comparison of the
 * `playground` scenario.
 */

/** Bytes of the buffer that is read, and how often. Caches of processors have up to 1 GiB, mostly far less. */
const reads: Record<Size, { bytes: number; passes: number }> = {
  full: { bytes: 2 ** 31, passes: 15 },
  quick: { bytes: 2 ** 30, passes: 7 },
  test: { bytes: 2 ** 22, passes: 3 },
};
const memory = 'memory';
const gigabyte = 1e9;

/** How quickly weights are read, in GB/s. @param rate tokens per second of one answer. */
export const weightsRead = (model: string, rate: number): number => (rate * statSync(model).size) / gigabyte;

/** @param model the file of a scenario folder's model */
export const bandwidthSide = (model: (dir: string) => string): Side => ({
  name: memory,
  about: "a C program that reads memory with the engine's thread count",
  trial: async ({ dir, size }) => {
    const cores = availableParallelism();
    const threads = threadsFor({ bytes: statSync(model(dir)).size, tokens: 1, cores, trainingActive: false });
    const { bytes, passes } = reads[size];
    const run = await runMeasured(compiled('bandwidth'), [threads, bytes, passes].map(String));
    return { figures: { read: Number(run.stdout) / gigabyte }, answer: null };
  },
});

export const bandwidthComparison: Comparison = {
  ...{ metric: 'weights read while decoding at F16', figure: 'read', unit: 'GB/s', better: 'more' },
  ...{ peer: memory, goal: { times: 0.85 } },
};
