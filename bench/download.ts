import { randomUUID } from 'node:crypto';
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { openStore } from '../src/db/store.ts';
import { missingUws, onNode, onUws } from './harness/engines.ts';
import { programs, root } from './harness/places.ts';
import type { Scenario, Side, Size, Trial } from './harness/scenario.ts';
import { type MeasuredServer, startHone, startServer } from './harness/server.ts';

/*
 * Download of a model file: server CPU time per GB, throughput to a client that discards the data, and growth of the
 * server's memory. The file is sparse, so that no disk is measured.
 */

const fileBytes: Record<Size, number> = { full: 2 ** 31, quick: 2 ** 29, test: 2 ** 22 };
const folderOf = (dir: string) => join(dir, 'model');

/** Reads a whole response and returns the length of its body in bytes. */
function download(port: number, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = get({ port, path, host: '127.0.0.1', agent: false }, (response) => {
      let bytes = 0;
      response.on('data', (piece: Buffer) => {
        bytes += piece.length;
      });
      response.on('end', () => resolve(bytes));
      response.on('error', reject);
    });
    asked.on('error', reject);
  });
}

async function measure(server: MeasuredServer, path: string): Promise<Trial> {
  try {
    // A first download as warm-up, so that code is compiled and initial memory is allocated.
    await download(server.port, path);
    const before = server.memory();
    const cpuBefore = server.cpuSeconds();
    const begun = performance.now();
    const bytes = await download(server.port, path);
    const seconds = (performance.now() - begun) / 1000;
    const cpuSeconds = server.cpuSeconds() - cpuBefore;
    const after = server.memory();
    return {
      figures: {
        cpu: (cpuSeconds / bytes) * 1e9,
        rate: bytes / 1e6 / seconds,
        growth: Math.max(0, (after.peakBytes ?? after.bytes) - before.bytes) / 1e6,
      },
      answer: bytes,
    };
  } finally {
    await server.end();
  }
}

/** Our side, with a model whose folder `prepare` made. */
const hone = (name: string, about: string, env: NodeJS.ProcessEnv, missing?: Side['missing']): Side => ({
  name,
  about,
  ...(missing === undefined ? {} : { missing }),
  trial: async ({ dir, number }) => {
    const dataDir = join(dir, `${name.replaceAll(/\W/g, '-')}-${number}`);
    mkdirSync(join(dataDir, 'database'), { recursive: true });
    const modelId = randomUUID();
    const store = openStore(join(dataDir, 'database', 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
    store.models.insert({
      ...{ modelId, jobId: null, name: 'bench', baseModel: 'acme/model', task: 'text-generation' },
      ...{ provider: 'standard', strategy: 'sft', datasetName: 'rows.jsonl', sizeBytes: 0 },
      ...{ createdAt: '2026-01-01T00:00:00.000Z', path: folderOf(dir), config: {}, metrics: {} },
      ...{ verification: null, artifacts: [] },
    });
    store.close();
    const server = await startHone(dataDir, { env });
    return measure(server, `/api/models/${modelId}/files/large.bin`);
  },
});

export const scenario: Scenario = {
  name: 'download',
  about: 'a model file, to a fast client',
  runs: { full: 4, quick: 2 },
  warmUps: { full: 0, quick: 0 },
  prepare: async ({ dir, size }) => {
    mkdirSync(folderOf(dir));
    const file = join(folderOf(dir), 'large.bin');
    writeFileSync(file, '');
    truncateSync(file, fileBytes[size]);
  },
  sides: [
    hone('hone', 'the service on uWebSockets.js', onUws, missingUws),
    {
      name: 'node:http',
      about: `the HTTP server of Node ${process.versions.node}, with createReadStream and pipeline`,
      trial: async ({ dir }) => {
        const server = await startServer({
          command: process.execPath,
          args: [join(programs, 'file_server.mjs')],
          env: { FILE: join(folderOf(dir), 'large.bin') },
        });
        return measure(server, '/');
      },
    },
    hone("hone on Node's http", "the service on Node's own HTTP server", onNode),
  ],
  comparisons: ['hone', "hone on Node's http"].flatMap((ours) => [
    {
      ...{ ours, metric: `CPU per GB, ${ours}`, figure: 'cpu', unit: 's', better: 'less' },
      ...{ peer: 'node:http', goal: { share: 1.2 } },
    } as const,
    {
      ...{ ours, metric: `throughput, ${ours}`, figure: 'rate', unit: 'MB/s', better: 'more' },
      ...{ peer: 'node:http', goal: null },
    } as const,
    {
      ...{ ours, metric: `throughput, ${ours}`, figure: 'rate', unit: 'MB/s', better: 'more' },
      ...{ peer: null, goal: { atLeast: 500 } },
    } as const,
    {
      ...{ ours, metric: `memory growth, ${ours}`, figure: 'growth', unit: 'MB', better: 'less' },
      ...{ peer: null, goal: { atMost: 50 }, worst: true },
    } as const,
  ]),
};
