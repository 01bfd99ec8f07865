/**
 * Bursts of 1,000 requests and 500 sockets while a model trains: every request is answered, and none with a 5xx. Prints the
 * latency of the status, how much the training slowed down, and the CPU time that a round cost the service and the clients, which
 * share the machine with it; these depend on the machine and are not judged here. The clients, which would be on other machines,
 * keep to one core.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import { cpuSecondsOf } from '../../bench/harness/account.ts';
import { endAll, quickRequest, startService, supportRows, type TestService, until } from '../service.ts';
import { inMegabytes, resourcesOf } from './resources.ts';

const socketCount = 500;
const burst = 1_000;
const rounds = Number(process.env.HONE_COUNT ?? 10);
const phaseMs = 5_000;
const paths = [
  '/api/finetune/status',
  '/api/training_status',
  '/api/health',
  '/api/models',
  '/api/jobs',
  '/v1/models',
];

test.after(endAll);

const middle = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;
const percentile = (values: number[], share: number) =>
  values.sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] as number;

/** Keeps this process, which is the clients, to one core; what it has started may use all. */
function keepToOneCore(): void {
  const last = availableParallelism() - 1;
  if (process.platform === 'linux' && last > 0)
    execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', String(last), String(process.pid)]);
}

async function stepOf(service: TestService): Promise<number> {
  const { body } = await service.call('GET', '/api/training_status');
  assert.is(body.status, 'training', 'the training outlasts the measurement');
  return body.current_step ?? 0;
}

/** Steps per second of the training during a phase. */
async function speed(service: TestService, during: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  const first = await stepOf(service);
  await during();
  return (1_000 * ((await stepOf(service)) - first)) / (performance.now() - began);
}

function openSockets(service: TestService): Promise<WebSocket[]> {
  return Promise.all(
    Array.from({ length: socketCount }, () => {
      const socket = new WebSocket(`${service.url.replace('http', 'ws')}/ws/training`);
      socket.on('message', () => undefined);
      return new Promise<WebSocket>((resolve, reject) => {
        socket.once('open', () => resolve(socket)).once('error', reject);
      });
    }),
  );
}

test(`${rounds} rounds of ${burst} requests at once and ${socketCount} sockets during a training`, async () => {
  const service = await startService();
  const pid = service.process.pid as number;
  keepToOneCore();
  await service.upload('support.jsonl', supportRows());
  const start = await service.call('POST', '/api/start_training', quickRequest({ max_steps: 1_000_000 }));
  assert.is(start.status, 200, JSON.stringify(start.body));
  await until(async () => (await stepOf(service)) > 50, 'the training runs', 600_000);

  const latencies: number[] = [];
  const statuses = new Map<number, number>();
  const ratios: number[] = [];
  const costs = { service: 0, clients: 0 };
  let most = 0;
  const before = resourcesOf(pid);
  for (let round = 0; round < rounds; round += 1) {
    let idle = cpuSecondsOf(pid);
    const quiet = await speed(service, () => sleep(phaseMs));
    idle = cpuSecondsOf(pid) - idle;
    const sockets = await openSockets(service);
    const [service0, clients0] = [cpuSecondsOf(pid), cpuSecondsOf(process.pid)];
    const busy = await speed(service, async () => {
      const poller = new Worker(new URL('./status-poller.mjs', import.meta.url), {
        workerData: `${service.url}/api/finetune/status`,
      });
      const asked = Array.from({ length: burst }, async (_, number) => {
        const { status } = await service.call('GET', paths[number % paths.length] as string);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      });
      for (const end = performance.now() + phaseMs; performance.now() < end; await sleep(100)) {
        most = Math.max(most, resourcesOf(pid).residentBytes);
      }
      await Promise.all(asked);
      poller.postMessage('end');
      latencies.push(...((await once(poller, 'message'))[0] as number[]));
    });
    costs.service += cpuSecondsOf(pid) - service0 - idle;
    costs.clients += cpuSecondsOf(process.pid) - clients0;
    for (const socket of sockets) socket.terminate();
    ratios.push(busy / quiet);
  }
  await service.call('POST', '/api/stop_training');
  await until(() => resourcesOf(pid).descriptors <= before.descriptors + 20, 'every socket was closed');
  console.log(
    `figure: answers ${JSON.stringify(Object.fromEntries(statuses))}; status p50 ${percentile(latencies, 0.5).toFixed(1)} ms, ` +
      `p99 ${percentile(latencies, 0.99).toFixed(1)} ms; training at ${(100 * middle(ratios)).toFixed(1)} % ` +
      `of its speed; CPU time per round: service ${(costs.service / rounds).toFixed(2)} s, ` +
      `clients ${(costs.clients / rounds).toFixed(2)} s; memory ${inMegabytes(before.residentBytes)} → at most ${inMegabytes(most)}`,
  );
  assert.equal([...statuses], [[200, rounds * burst]]);
});

test.run();
