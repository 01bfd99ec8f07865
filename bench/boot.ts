import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { missingPython, programs, python, pythonVersion } from './harness/places.ts';
import type { Scenario, Trial } from './harness/scenario.ts';
import { type MeasuredServer, startHone, startServer } from './harness/server.ts';

/*
 * From process start to the first `healthy` response, with an existing data directory. The peer has a single route with
 * the same response and imports nothing else.
 */

const answer = { status: 'healthy', version: 'v2' };

async function untilHealthy(start: () => Promise<MeasuredServer>): Promise<Trial> {
  const begun = performance.now();
  const server = await start();
  try {
    const response = await fetch(`${server.url}/api/health`);
    const body = await response.json();
    const wall = performance.now() - begun;
    return { figures: { wall, cpu: server.cpuSeconds() * 1000 }, answer: body };
  } finally {
    await server.end();
  }
}

export const scenario: Scenario = {
  name: 'boot',
  about: 'process start to healthy',
  runs: { full: 11, quick: 3 },
  sides: [
    {
      name: 'hone',
      about: 'the built service',
      trial: ({ dir }) => {
        const dataDir = join(dir, 'data');
        mkdirSync(dataDir, { recursive: true });
        return untilHealthy(() => startHone(dataDir));
      },
    },
    {
      name: 'FastAPI',
      about: async () =>
        `FastAPI ${await pythonVersion('fastapi')} on uvicorn ${await pythonVersion('uvicorn')}, one route`,
      missing: () => missingPython('fastapi', 'uvicorn'),
      trial: () =>
        untilHealthy(() =>
          startServer({
            command: python,
            args: [join(programs, 'fastapi_server.py')],
            env: { ANSWERS: JSON.stringify({ '/api/health': answer }) },
          }),
        ),
    },
  ],
  comparisons: [
    {
      metric: 'until healthy',
      figure: 'wall',
      unit: 'ms',
      better: 'less',
      peer: 'FastAPI',
      goal: { share: 1 },
    },
    { metric: 'until healthy', figure: 'wall', unit: 'ms', better: 'less', peer: null, goal: { below: 300 } },
    {
      metric: 'CPU time until healthy',
      figure: 'cpu',
      unit: 'ms',
      better: 'less',
      peer: 'FastAPI',
      goal: null,
    },
  ],
};
