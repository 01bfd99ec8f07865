import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { callApi } from './harness/api.ts';
import { makeInputs } from './harness/inputs.ts';
import type { Comparison, Scenario, Size } from './harness/scenario.ts';
import { type MeasuredServer, startHone } from './harness/server.ts';
import { untilWarm, upload } from './harness/service.ts';

/*
 * How far the estimate of a run's time is off, after one run of the same model: the larger of estimate by actual time and its
 * inverse. All runs are estimated before the second one starts, so that none is told by another than the first. Wall time,
 * from the start to the end of a run, with its preparation and export.
 */

const env = { OMP_NUM_THREADS: '1', HF_HUB_OFFLINE: '1' };

/** What differs from the first run. */
const variants = {
  'three times the epochs': { num_train_epochs: 3 },
  'a quarter of the batch': { per_device_train_batch_size: 2 },
  'four batches a step': { gradient_accumulation_steps: 4 },
  'rows three times as long': { dataset: 'long.jsonl' },
  'an evaluation every 12 steps': { eval_steps: 12 },
} as const;

const epochs: Record<Size, number> = { full: 2, quick: 1, test: 1 };

/** Rows whose output is that of three rows. */
function longer(rows: string): string {
  const every = rows
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { input: string; output: string });
  return every
    .map(({ input, output }, place) => {
      const more = [1, 2]
        .map((by) => every[(place + by) % every.length])
        .flatMap((row) => [row?.input, row?.output]);
      return `${JSON.stringify({ input, output: [output, ...more].join(' ') })}\n`;
    })
    .join('');
}

/** Trains to the end. @returns how long it took, in seconds. */
async function secondsOf(server: MeasuredServer, request: object): Promise<number> {
  const { job_id } = await callApi(server, 'POST', '/api/finetune/start_training', request);
  for (;;) {
    const job = await callApi(server, 'GET', `/api/jobs/${job_id}`);
    if (job.state === 'completed') return (Date.parse(job.ended_at) - Date.parse(job.started_at)) / 1000;
    if (job.error !== null) throw new Error(`A run is ${job.state}: ${job.error.message}`);
    await sleep(100);
  }
}

export const scenario: Scenario = {
  name: 'estimate',
  about: 'the estimate of how long a run takes, after one run of the same model',
  runs: { full: 3, quick: 1 },
  warmUps: { full: 0, quick: 0 },
  prepare: (input) => makeInputs('training_inputs.py', [input.size, 'input-output'], input),
  sides: [
    {
      name: 'hone',
      about: 'POST /api/estimate, and the runs',
      trial: async ({ dir, size, number }) => {
        const data = join(dir, `data-${number}`);
        mkdirSync(data);
        const server = await startHone(data, { env, args: ['--log-level', 'debug'] });
        try {
          const warm = untilWarm(server);
          const rows = readFileSync(join(dir, 'rows.jsonl'), 'utf8');
          await upload(server, 'rows.jsonl', rows);
          await upload(server, 'long.jsonl', longer(rows));
          const first = {
            ...{ task: 'text-generation', model_name: join(dir, 'model'), dataset: 'rows.jsonl' },
            ...{ num_train_epochs: epochs[size], per_device_train_batch_size: 8, eval_split: 0.1 },
            ...{ gradient_accumulation_steps: 1, max_seq_length: 1024, device: 'cpu', seed: 42 },
          };
          await callApi(server, 'POST', '/api/estimate', first);
          await warm;
          await secondsOf(server, first);
          const estimates: [string, object, number][] = [];
          for (const [name, changes] of Object.entries({ 'the same again': {}, ...variants })) {
            const request = { ...first, ...changes };
            const { time } = await callApi(server, 'POST', '/api/estimate', request);
            estimates.push([name, request, time.total_seconds]);
          }
          const figures: Record<string, number> = {};
          for (const [name, request, estimated] of estimates) {
            const actual = await secondsOf(server, request);
            figures[name] = Math.max(estimated / actual, actual / estimated);
          }
          return { figures, answer: null };
        } finally {
          await server.end();
        }
      },
    },
  ],
  comparisons: ['the same again', ...Object.keys(variants)].map(
    (figure): Comparison => ({
      ...{ metric: `estimate, off by: ${figure}`, figure, unit: '×', better: 'less', peer: null },
      goal: { atMost: 1.5 },
    }),
  ),
};
