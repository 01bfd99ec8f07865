import { join } from 'node:path';
import type { Space } from '../../src/contract/sweeps.ts';
import { openStore, type Store } from '../../src/db/store.ts';
import { root } from '../folders.ts';

const space: Space = {
  learning_rate: { low: 1e-5, high: 1e-2, log: true },
  lora_r: { choices: [8, 16, 32] },
  gradient_accumulation_steps: { choices: [1, 2, 4] },
  warmup_ratio: { low: 0, high: 0.2, log: false },
  packing: { choices: [true, false] },
};
const steps = { total: 90, every: 10 } as const;
/** What the trials came to: completed, culled at a ninth or a third of the steps, or failed. */
const ends = [90, 90, 90, 10, 30, 10, 90, 10, 30, 10, 10, 30, 90, 0, 10, 90] as const;
/** The base model's evaluation loss. */
const baseLoss = 4;
const sweepStart = Date.UTC(2026, 4, 4, 9);

/** A number from 0 to 1 that depends on the others alone: a sweep looks the same in every run. */
const spread = (trial: number, part: number) => ((trial + 1) * 0.618_034 * (part + 1) + part * 0.377) % 1;

/** The lowest loss is at a learning rate of 0.001 and a rank of 32. */
const lossAt = (rate: number, rank: number, step: number) =>
  0.4 + 0.5 * Math.abs(Math.log10(rate) + 3) + 0.3 / Math.log2(rank) + 6 / (step + 4);

/**
 * Stores a sweep of sixteen trials with their evaluations, without a training, where no service runs.
 * @param model the base model that its request names.
 */
export function storeSweep(dataDir: string, model: string): void {
  const store = openStore(join(dataDir, 'database', 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  const shared = {
    task: 'text-generation',
    model_name: model,
    dataset: 'support.jsonl',
    eval_split: 0.1,
    max_steps: steps.total,
    export: { quantizations: ['Q4_K_M'] },
  };
  const at = (minutes: number) => new Date(sweepStart + minutes * 60_000).toISOString();
  const sweepId = store.sweeps.insert({
    ...{ state: 'running', request: shared, space, trials: ends.length, metric: 'eval_loss', seed: 42 },
    ...{ direction: 'minimize', culling: true, createdAt: at(0) },
  });
  store.transaction(() => {
    for (const [index, end] of ends.entries()) {
      const rate = 10 ** (-5 + 3 * spread(index, 0));
      const rank = [8, 16, 32][Math.floor(3 * spread(index, 1))] as number;
      const jobId = storeTrial(store, index, end, at(index + 1), (step) => lossAt(rate, rank, step));
      const parameters = {
        ...{ learning_rate: rate, lora_r: rank, packing: spread(index, 4) > 0.5 },
        gradient_accumulation_steps: [1, 2, 4][Math.floor(3 * spread(index, 2))] as number,
        warmup_ratio: 0.2 * spread(index, 3),
      };
      store.sweeps.putTrial({ sweepId, number: index + 1, jobId, parameters });
      if (end > 0 && end < steps.total) store.sweeps.setCulled(jobId);
    }
  });
  store.sweeps.setState(sweepId, 'completed', at(ends.length + 1), null);
  store.close();
}

/** Stores a run with an evaluation every ten steps. @param end its last step; 0 for one that failed. */
function storeTrial(store: Store, index: number, end: number, at: string, lossOf: (step: number) => number) {
  const state = end === 0 ? 'failed' : end < steps.total ? 'stopped' : 'completed';
  const jobId = store.jobs.insert({
    ...{ modelId: `trial-${index}`, state: 'queued', task: 'text-generation', provider: 'standard' },
    ...{ strategy: 'sft', modelName: 'owner/name', datasetName: 'support.jsonl', createdAt: at },
  });
  const unknown = { tokens: 0, tokens_per_second: null, eta_seconds: null, memory_bytes: null, extra: {} };
  store.jobs.update(jobId, {
    ...{ state, startedAt: at, endedAt: at, acknowledged: true },
    spec: { settings: { workers: 2 }, export: null },
    lastMetric:
      end === 0
        ? null
        : {
            ...{ step: end, total_steps: steps.total, epoch: 1, total_epochs: 1, loss: lossOf(end) },
            ...{ learning_rate: 1e-4, grad_norm: 1, elapsed_seconds: end, ...unknown },
          },
    resultMetrics: end === steps.total ? { eval_loss: lossOf(end) } : null,
    ...(end === 0 ? { errorCode: 'out_of_memory', errorMessage: 'The GPU ran out of memory.' } : {}),
  });
  for (let step = 0; step <= end; step += steps.every) {
    const eval_loss = step === 0 ? baseLoss : lossOf(step);
    const payload = { kind: 'eval', step, epoch: step / steps.total, metrics: { eval_loss } };
    store.events.append({ seq: store.events.newestSeq() + 1, jobId, type: 'metrics', time: at, payload });
  }
  return jobId;
}
