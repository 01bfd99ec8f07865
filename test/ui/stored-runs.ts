import { join } from 'node:path';
import { openStore, type Store } from '../../src/db/store.ts';
import { root } from '../folders.ts';

const at = new Date(Date.UTC(2026, 4, 4, 9)).toISOString();
/** Seconds per step, and steps per epoch. */
export const pace = { seconds: 30, epochSteps: 20 } as const;

export interface StoredRun {
  readonly name: string;
  readonly steps: number;
  readonly lossAt: (step: number) => number;
  /** Evaluation losses by step. */
  readonly evaluations?: Readonly<Record<number, number>>;
  /** Frames of the log. */
  readonly log?: readonly Readonly<Record<string, unknown>>[];
}

/** Stores stopped runs with their metrics, without a training, where no service runs. */
export function storeRuns(dataDir: string, runs: readonly StoredRun[]): void {
  const store = openStore(join(dataDir, 'database', 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  store.transaction(() => {
    for (const run of runs) storeRun(store, run);
  });
  store.close();
}

function storeRun(store: Store, { name, steps, lossAt, evaluations = {}, log = [] }: StoredRun): void {
  const jobId = store.jobs.insert({
    ...{ modelId: `model-${name}`, state: 'queued', task: 'text-generation', provider: 'standard' },
    ...{ strategy: 'sft', modelName: 'owner/name', datasetName: 'a.jsonl', createdAt: at },
  });
  store.jobs.update(jobId, {
    ...{ state: 'stopped', startedAt: at, endedAt: at, acknowledged: true, displayName: name },
    spec: { settings: {}, export: null },
  });
  const put = (type: string, payload: Record<string, unknown>) =>
    store.events.append({ seq: store.events.newestSeq() + 1, jobId, type, time: at, payload });
  for (let step = 1; step <= steps; step += 1) {
    const [epoch, elapsed] = [step / pace.epochSteps, step * pace.seconds];
    put('metrics', {
      ...{ kind: 'train', step, total_steps: steps, epoch, total_epochs: steps / pace.epochSteps },
      ...{ loss: lossAt(step), learning_rate: 1e-4, grad_norm: 1 + (step % 3), tokens: step },
      ...{ tokens_per_second: 100, elapsed_seconds: elapsed, eta_seconds: 0, memory_bytes: 2 ** 30 },
      ...{ extra: {}, progress: (100 * step) / steps },
    });
    const loss = evaluations[step];
    if (loss !== undefined) put('metrics', { kind: 'eval', step, epoch, metrics: { eval_loss: loss } });
  }
  for (const frame of log) put('log', frame);
}
