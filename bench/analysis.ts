import { mkdirSync, openAsBlob, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { childPeakBytes, cpuSecondsOf } from './harness/account.ts';
import { callApi } from './harness/api.ts';
import { makeInputs } from './harness/inputs.ts';
import type { Scenario, Size } from './harness/scenario.ts';
import { startHone } from './harness/server.ts';

/*
 * A dataset of a million rows is analysed: exact and near duplicates, empty answers, and the lengths in tokens of its
 * sample, which a process of its own counts. Both processes are counted, and the whole memory of the latter.
 */

const rows: Record<Size, number> = { full: 1_000_000, quick: 100_000, test: 2_000 };
const pollMs = 50;

export const scenario: Scenario = {
  name: 'analysis',
  about: 'duplicates in a dataset, and its lengths in tokens',
  runs: { full: 3, quick: 3 },
  warmUps: { full: 0, quick: 0 },
  prepare: ({ dir, size }) => makeInputs('analysis_inputs.py', [String(rows[size])], { dir, size }),
  sides: [
    {
      name: 'hone',
      about: 'the request and its process',
      trial: async ({ dir, size, number }) => {
        const dataDir = join(dir, `data-${number}`);
        mkdirSync(dataDir);
        const server = await startHone(dataDir);
        try {
          const form = new FormData();
          form.append('file', await openAsBlob(join(dir, 'rows.jsonl')), 'rows.jsonl');
          const sent = await fetch(`${server.url}/api/upload_dataset`, { method: 'POST', body: form });
          if (!sent.ok) throw new Error(`The upload was answered ${sent.status}: ${await sent.text()}`);
          // Asks the trainer what it can do, in a process whose time must not be counted.
          await callApi(server, 'GET', '/api/info');
          const { bytes } = server.memory();
          const before = cpuSecondsOf(server.pid, 'with ended children');
          let ended = false;
          const answer = callApi(server, 'POST', '/api/datasets/rows.jsonl/analysis', {
            model_name: join(dir, 'model'),
            max_seq_length: 64,
          }).finally(() => {
            ended = true;
          });
          let serviceBytes = 0;
          let processBytes = 0;
          while (!ended) {
            serviceBytes = Math.max(serviceBytes, server.memory().bytes);
            processBytes = Math.max(processBytes, childPeakBytes(server.pid));
            await Promise.race([sleep(pollMs), answer.catch(() => undefined)]);
          }
          const found = await answer;
          const seconds = cpuSecondsOf(server.pid, 'with ended children') - before;
          // Every tenth row repeats the one before it, which is seen in most of them.
          if (found.rows !== rows[size] || found.near_duplicates.rows < rows[size] / 20) {
            throw new Error(`Found ${JSON.stringify(found).slice(0, 500)}`);
          }
          return {
            figures: {
              seconds,
              service: Math.max(0, serviceBytes - bytes) / 1e6,
              process: processBytes / 1e6,
            },
            answer: found,
          };
        } finally {
          await server.end();
          rmSync(dataDir, { recursive: true });
        }
      },
    },
  ],
  comparisons: [
    { metric: 'CPU time', figure: 'seconds', unit: 's', better: 'less', peer: null, goal: { below: 15 } },
    {
      metric: 'memory growth of the service',
      figure: 'service',
      unit: 'MB',
      better: 'less',
      peer: null,
      goal: { atMost: 200 },
      worst: true,
    },
    {
      metric: 'memory of the count of tokens',
      figure: 'process',
      unit: 'MB',
      better: 'less',
      peer: null,
      goal: { atMost: 200 },
      worst: true,
    },
  ],
};
