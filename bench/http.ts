import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { compiled } from './harness/compiled.ts';
import { missingUws, onNode, onUws } from './harness/engines.ts';
import { writeHistory } from './harness/history.ts';
import { runMeasured } from './harness/measured.ts';
import { missingPython, programs, python, pythonVersion } from './harness/places.ts';
import type { Scenario, Side, Size, Trial } from './harness/scenario.ts';
import { type MeasuredServer, startHone, startServer } from './harness/server.ts';

/*
 * Server CPU time per status request, over 64 keep-alive connections. The client is a C program in its own process;
 * only the server process is measured. Hone has 10,000 models and 1,000 jobs in its database and runs on each of its
 * HTTP engines; the peers return the same objects from memory. All must return the same body.
 */

const connections = 64;
const paths = { status: '/api/finetune/status', flat: '/api/training_status' } as const;
/** The status response for the newest job of `writeHistory`. */
const answers = {
  [paths.status]: { status: 'completed', progress: 100, message: 'Training completed', error: null },
  [paths.flat]: {
    ...{ status: 'completed', progress: 100, current_epoch: 3, total_epochs: 3 },
    ...{ current_step: 150, total_steps: 150, loss: 0.4172, learning_rate: 0.0000013 },
    ...{ message: 'Training completed', error: null },
  },
};

/** How long each path is requested, in seconds. */
const lasting: Record<Size, number> = { full: 2, quick: 0.5, test: 0.05 };
const warmUpShare = 0.4;
const onNodeName = "hone on Node's http";

async function load(server: MeasuredServer, size: Size): Promise<Trial> {
  const figures: Record<string, number> = {};
  const answer: Record<string, unknown> = {};
  const ask = async (path: string, seconds: number) => {
    const argv = [String(server.port), String(connections), String(seconds), path];
    const { stdout } = await runMeasured(compiled('load'), argv);
    const end = stdout.indexOf('\n');
    return { count: Number(stdout.slice(0, end).split(' ')[0]), body: JSON.parse(stdout.slice(end + 1)) };
  };
  for (const [name, path] of Object.entries(paths)) {
    await ask(path, lasting[size] * warmUpShare);
    const before = server.cpuSeconds();
    const { count, body } = await ask(path, lasting[size]);
    figures[name] = ((server.cpuSeconds() - before) / count) * 1e6;
    answer[name] = body;
  }
  return { figures, answer };
}

/** Our side, on a copy of the database that `prepare` wrote. */
const hone = (name: string, about: string, database: string, env: NodeJS.ProcessEnv = onUws): Side => ({
  name,
  about,
  ...(env === onUws ? { missing: missingUws } : {}),
  trial: async ({ dir, size, number }) => {
    const dataDir = join(dir, `${name.replaceAll(/\W/g, '-')}-${number}`);
    mkdirSync(join(dataDir, 'database'), { recursive: true });
    copyFileSync(join(dir, `${database}.sqlite`), join(dataDir, 'database', 'hone.sqlite'));
    const server = await startHone(dataDir, { env });
    try {
      return await load(server, size);
    } finally {
      await server.end();
    }
  },
});

const peer = (command: string, args: readonly string[]): Side['trial'] => {
  return async ({ size }) => {
    const server = await startServer({ command, args, env: { ANSWERS: JSON.stringify(answers) } });
    try {
      return await load(server, size);
    } finally {
      await server.end();
    }
  };
};

export const scenario: Scenario = {
  name: 'http',
  about: 'server CPU time per status request',
  runs: { full: 4, quick: 2 },
  warmUps: { full: 0, quick: 0 },
  prepare: async ({ dir, size }) => {
    const full =
      size === 'test' ? { jobs: 10, models: 100, points: 10 } : { jobs: 1_000, models: 10_000, points: 100 };
    writeHistory(join(dir, 'full.sqlite'), full);
    writeHistory(join(dir, 'small.sqlite'), { jobs: 1, models: 1, points: 100 });
  },
  sides: [
    hone('hone', 'the service with 10,000 models and 1,000 jobs', 'full'),
    {
      name: 'node:http',
      about: `the HTTP server of Node ${process.versions.node}, with JSON.stringify`,
      trial: peer(process.execPath, [join(programs, 'node_server.mjs')]),
    },
    {
      name: 'FastAPI',
      about: async () =>
        `FastAPI ${await pythonVersion('fastapi')} on uvicorn ${await pythonVersion('uvicorn')}, uvloop and httptools, without access log`,
      missing: () => missingPython('fastapi', 'uvicorn', 'uvloop', 'httptools'),
      trial: peer(python, [join(programs, 'fastapi_server.py')]),
    },
    hone('hone, new', 'the service with one job', 'small'),
    hone(onNodeName, "the service on Node's own HTTP server", 'full', onNode),
  ],
  comparisons: Object.entries({ status: '/api/finetune/status', flat: '/api/training_status' }).flatMap(
    ([figure, metric]) => [
      { metric, figure, unit: 'µs', better: 'less', peer: 'node:http', goal: { share: 0.6 } } as const,
      { metric, figure, unit: 'µs', better: 'less', peer: 'FastAPI', goal: { share: 0.1 } } as const,
      { metric, figure, unit: 'µs', better: 'less', peer: 'hone, new', goal: null } as const,
      {
        ...{ ours: onNodeName, metric: `${metric}, ${onNodeName}`, figure, unit: 'µs', better: 'less' },
        ...{ peer: 'node:http', goal: { share: 1.25 } },
      } as const,
    ],
  ),
};
