import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from '../../src/db/store.ts';
import { root } from './places.ts';

/** The size of a service's history. */
export interface History {
  readonly jobs: number;
  readonly models: number;
  /** Number of stored metric points per job. */
  readonly points: number;
}

/** The latest metric line of every generated job. */
const metric = {
  ...{ step: 150, total_steps: 150, epoch: 3, total_epochs: 3, loss: 0.4172, learning_rate: 0.0000013 },
  ...{ grad_norm: 0.81, tokens: 230_400, tokens_per_second: 512.5, elapsed_seconds: 450, eta_seconds: 0 },
  ...{ memory_bytes: 734_003_200, extra: { mean_token_accuracy: 0.91 } },
};

/** Writes a database of completed jobs and their models, as the service would. */
export function writeHistory(path: string, { jobs, models, points }: History): void {
  const spec = JSON.parse(readFileSync(join(root, 'test', 'contract', 'spec.golden.json'), 'utf8'));
  const store = openStore(path, join(root, 'src', 'db', 'migrations'));
  const day = (number: number) => new Date(Date.UTC(2026, 0, 1) + number * 3_600_000).toISOString();
  let seq = 0;
  store.transaction(() => {
    for (let number = 1; number <= jobs; number += 1) {
      const id = store.jobs.insert({
        ...{ modelId: randomUUID(), state: 'completed', task: 'text-generation', provider: 'standard' },
        ...{ strategy: 'sft', modelName: 'Qwen/Qwen3-0.6B', datasetName: 'support.jsonl' },
        createdAt: day(number),
      });
      store.jobs.update(id, {
        ...{ spec, lastMetric: { seq: 9, time: day(number), type: 'metric', ...metric }, phase: 'verify' },
        ...{ resultMetrics: { final_loss: 0.4172 }, startedAt: day(number), endedAt: day(number) },
      });
      for (let point = 1; point <= points; point += 1) {
        seq += 1;
        const payload = { kind: 'train', ...metric, step: point };
        store.events.append({ seq, jobId: id, type: 'metrics', time: day(number), payload });
      }
    }
    for (let number = 1; number <= models; number += 1) {
      store.models.insert({
        ...{ modelId: randomUUID(), jobId: number <= jobs ? number : null, name: `model-${number}` },
        ...{ baseModel: 'Qwen/Qwen3-0.6B', task: 'text-generation', provider: 'standard', strategy: 'sft' },
        ...{ datasetName: 'support.jsonl', createdAt: day(number), sizeBytes: 640_000_000 },
        ...{ path: `/nowhere/${number}`, config: spec.settings, metrics: { final_loss: 0.4172 } },
        ...{ verification: null, artifacts: [] },
      });
    }
  });
  store.close();
}
