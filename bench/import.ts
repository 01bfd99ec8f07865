import { mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { childPeakBytes, cpuSecondsOf } from './harness/account.ts';
import { callApi } from './harness/api.ts';
import { makeInputs } from './harness/inputs.ts';
import { runMeasured } from './harness/measured.ts';
import { programs, python, pythonVersion } from './harness/places.ts';
import type { Scenario, Size, Trial } from './harness/scenario.ts';
import { type MeasuredServer, startHone } from './harness/server.ts';

/*
 * 500 MB of CSV, of a JSON array and of Parquet become a stored dataset: MB of the source per second of CPU time, and
 * growth of memory. Hone converts them in a process of its own, checks every row in the service, and writes and syncs
 * the file; both are counted, and the whole memory of the former. The peer checks nothing and does not sync.
 */

const megabytes: Record<Size, number> = { full: 500, quick: 50, test: 1 };
const containers = ['csv', 'json', 'parquet'] as const;
const sourceIn = (dir: string, container: string) => join(dir, `rows.${container}`);
const sizeOf = (path: string) => statSync(path).size / 1e6;
/** Each answer costs the service about a millisecond. */
const pollMs = 500;

/** Imports a file, and waits for its end. */
async function importFile(server: MeasuredServer, path: string): Promise<Trial> {
  const { bytes } = server.memory();
  const before = cpuSecondsOf(server.pid, 'with ended children');
  const { id } = await callApi(server, 'POST', '/api/imports', { path });
  await callApi(server, 'POST', `/api/imports/${id}/start`);
  let processBytes = 0;
  let serviceBytes = 0;
  for (;;) {
    processBytes = Math.max(processBytes, childPeakBytes(server.pid));
    serviceBytes = Math.max(serviceBytes, server.memory().bytes);
    const { state, error, dataset } = await callApi(server, 'GET', `/api/imports/${id}`);
    if (state === 'running') {
      await sleep(pollMs);
      continue;
    }
    if (state !== 'completed') throw new Error(`The import ended as ${state}: ${JSON.stringify(error)}`);
    const seconds = cpuSecondsOf(server.pid, 'with ended children') - before;
    const rows = (from: number) => callApi(server, 'GET', `/api/datasets/${dataset}?rows=1&from=${from}`);
    const first = await rows(0);
    const last = await rows(first.num_examples - 1);
    return {
      figures: {
        rate: sizeOf(path) / Math.max(seconds, 0.01),
        growth: (Math.max(0, serviceBytes - bytes) + processBytes) / 1e6,
      },
      answer: [first.num_examples, first.rows[0], last.rows[0]],
    };
  }
}

/** Runs all containers one after the other; figures are named after them. */
async function each(run: (container: string) => Promise<Trial>): Promise<Trial> {
  const figures: Record<string, number> = { growth: 0 };
  const answer: unknown[] = [];
  for (const container of containers) {
    const trial = await run(container);
    figures[container] = trial.figures.rate as number;
    figures.growth = Math.max(figures.growth as number, trial.figures.growth as number);
    answer.push(trial.answer);
  }
  return { figures, answer };
}

export const scenario: Scenario = {
  name: 'import',
  about: 'datasets of other containers become JSONL, every row checked',
  runs: { full: 3, quick: 3 },
  prepare: ({ dir, size }) => makeInputs('import_inputs.py', [String(megabytes[size])], { dir, size }),
  sides: [
    {
      name: 'hone',
      about: 'the import and the service, up to the synced file',
      trial: async ({ dir, number }) => {
        const dataDir = join(dir, `data-${number}`);
        mkdirSync(dataDir);
        const server = await startHone(dataDir);
        try {
          // Asks the trainer what it can do, in a process whose time must not be counted.
          await callApi(server, 'GET', '/api/info');
          return await each((container) => importFile(server, sourceIn(dir, container)));
        } finally {
          await server.end();
          rmSync(dataDir, { recursive: true });
        }
      },
    },
    {
      name: 'pyarrow',
      about: async () =>
        `pyarrow ${await pythonVersion('pyarrow')} (json.load for the array) and json.dumps, without checks`,
      trial: ({ dir }) =>
        each(async (container) => {
          const source = sourceIn(dir, container);
          const target = join(dir, 'rows.jsonl');
          const { stdout, cpuSeconds, peakBytes } = await runMeasured(python, [
            join(programs, 'import_pyarrow.py'),
            source,
            target,
          ]);
          rmSync(target);
          return {
            figures: { rate: sizeOf(source) / cpuSeconds, growth: peakBytes / 1e6 },
            answer: JSON.parse(stdout),
          };
        }),
    },
  ],
  comparisons: [
    ...containers.map((container) => ({
      metric: `${container === 'json' ? 'JSON array' : container === 'csv' ? 'CSV' : 'Parquet'} per CPU second`,
      figure: container,
      unit: 'MB',
      better: 'more' as const,
      peer: 'pyarrow',
      goal: { times: 1 },
    })),
    {
      metric: 'memory growth',
      figure: 'growth',
      unit: 'MB',
      better: 'less',
      peer: null,
      goal: { atMost: 200 },
      worst: true,
    },
  ],
};
