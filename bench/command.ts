import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { root } from './harness/places.ts';
import type { Scenario, Trial } from './harness/scenario.ts';

/*
 * How long a command takes before its first request to the running service, from the start of its process. The peer is
 * Node that does nothing, from its start to its end.
 */

/** Runs a program. @returns its exit code. */
const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  new Promise<number | null>((resolve, reject) => {
    const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: 'ignore' });
    child.once('error', reject).once('close', resolve);
  });

async function untilRequest(dataDir: string): Promise<Trial> {
  let begun = 0;
  let wall = 0;
  const server = createServer((request, reply) => {
    wall ||= performance.now() - begun;
    reply.end(request.url === '/api/health' ? '{"version": "v2"}' : '{"models": []}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  mkdirSync(dataDir, { recursive: true });
  const service = { pid: process.pid, url, key: 'none', certificate: null };
  writeFileSync(join(dataDir, 'service.json'), JSON.stringify(service));
  begun = performance.now();
  const code = await run([join(root, 'setup.mjs'), 'models'], { SERVICE_DATA_DIR: dataDir });
  server.close();
  return { figures: { wall }, answer: code };
}

export const scenario: Scenario = {
  name: 'command',
  about: 'from the start of a command to its first request',
  runs: { full: 21, quick: 5 },
  sides: [
    { name: 'hone', about: 'hone models', trial: ({ dir }) => untilRequest(join(dir, 'data')) },
    {
      name: 'Node',
      about: () => `node -e 0, ${process.version}`,
      async trial() {
        const begun = performance.now();
        const code = await run(['-e', '0']);
        return { figures: { wall: performance.now() - begun }, answer: code };
      },
    },
  ],
  comparisons: [
    {
      ...{ metric: 'until the first request', figure: 'wall', unit: 'ms', better: 'less', peer: null },
      goal: { atMost: 150 },
    },
    {
      ...{
        metric: 'beside Node alone',
        figure: 'wall',
        unit: 'ms',
        better: 'less',
        peer: 'Node',
        goal: null,
      },
    },
  ],
};
