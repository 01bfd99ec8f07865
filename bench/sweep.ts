import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { callApi } from './harness/api.ts';
import { makeInputs } from './harness/inputs.ts';
import type { Scenario, Side, Size } from './harness/scenario.ts';
import { startHone } from './harness/server.ts';
import { untilWarm, upload } from './harness/service.ts';

/*
 * A sweep over every combination of some learning rates and batch sizes, with culling and without, through the service: the
 * optimizer steps of all trials, and the winner, which must be the same. Real trainings of a small model, each evaluated
 * nine times. Each side tries all combinations, because it proposes them by what it has seen.
 */

const env = { OMP_NUM_THREADS: '1', HF_HUB_OFFLINE: '1' };

/** Learning rates from far too low to far too high, batch sizes, and the steps of a trial. */
const rates = [1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1];
const shapes: Record<Size, { rates: number[]; batches: number[]; steps: number }> = {
  full: { rates, batches: [1, 8], steps: 72 },
  quick: { rates, batches: [1, 8], steps: 36 },
  test: { rates: [1e-5, 1e-2], batches: [1], steps: 9 },
};

async function trial(culling: boolean, { dir, size, number }: { dir: string; size: Size; number: number }) {
  const data = join(dir, `data-${culling}-${number}`);
  mkdirSync(data);
  const server = await startHone(data, { env, args: ['--log-level', 'debug'] });
  try {
    const warm = untilWarm(server);
    await upload(server, 'rows.jsonl', readFileSync(join(dir, 'rows.jsonl')));
    const { rates, batches, steps } = shapes[size];
    const request = {
      ...{ task: 'text-generation', model_name: join(dir, 'model'), dataset: 'rows.jsonl' },
      ...{ max_steps: steps, eval_steps: steps / 9, gradient_accumulation_steps: 1, lora_r: 8 },
      ...{ per_device_eval_batch_size: 8, eval_split: 0.1, max_seq_length: 256, device: 'cpu', seed: 42 },
      ...{ lora_alpha: 32, warmup_ratio: 0.05, lr_scheduler_type: 'linear', save_total_limit: 1 },
    };
    await callApi(server, 'POST', '/api/estimate', request);
    // Or each trial would import torch.
    await warm;
    const space = {
      learning_rate: { choices: rates },
      per_device_train_batch_size: { choices: batches },
    };
    const trials = rates.length * batches.length;
    const started = await callApi(server, 'POST', '/api/sweeps', { ...request, space, trials, culling });
    for (;;) {
      const sweep = await callApi(server, 'GET', `/api/sweeps/${started.sweep_id}`);
      if (sweep.state === 'completed') {
        const tried = sweep.trials_started.length;
        if (tried !== trials) throw new Error(`${tried} trials instead of ${trials}`);
        return { figures: { steps: sweep.steps.made }, answer: sweep.best.parameters };
      }
      if (sweep.state !== 'running') throw new Error(`The sweep is ${sweep.state}: ${sweep.error}`);
      await sleep(500);
    }
  } finally {
    await server.end();
  }
}

const side = (name: string, about: string, culling: boolean): Side => ({
  name,
  about,
  trial: (input) => trial(culling, input),
});

export const scenario: Scenario = {
  name: 'sweep',
  about: 'optimizer steps of a sweep of 20 trials that finds the same winner',
  runs: { full: 1, quick: 1 },
  warmUps: { full: 0, quick: 0 },
  prepare: (input) => makeInputs('sweep_inputs.py', [], input),
  sides: [
    side('culling', 'POST /api/sweeps with culling', true),
    side('all in full', 'POST /api/sweeps without', false),
  ],
  comparisons: [
    {
      ...{ metric: 'steps of all trials', figure: 'steps', unit: 'steps', better: 'less' },
      ...{ peer: 'all in full', goal: { share: 0.5 } },
    },
  ],
};
