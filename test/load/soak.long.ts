/**
 * Two hours of mixed load: trainings one after the other, uploads and deletions, answers of the models, sockets that come and
 * go, and the page's requests. Memory and descriptors of the service stay flat.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import { endAll, type Json, quickRequest, startService, supportRows, type TestService } from '../service.ts';
import { inMegabytes, type Resources, resourcesOf } from './resources.ts';

/** Or as many minutes as `npm run test:long -- --count N` says. */
const minutes = Number(process.env.HONE_COUNT ?? 120);
/** Of the median of the second half over that of the first: allocators keep some of what was freed. */
const growthBytes = 32e6;
const row = '{"input":"a question","output":"an answer"}\n';

test.after(endAll);

async function expectOk(service: TestService, method: string, path: string, body?: unknown): Promise<Json> {
  const answer = await service.call(method, path, body);
  assert.is(answer.status, 200, `${method} ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** A training, and the deletion of the oldest model and job when there are several. */
async function train(service: TestService): Promise<void> {
  const { status } = await expectOk(service, 'GET', '/api/training_status');
  if (status === 'training') return;
  const { jobs } = await expectOk(service, 'GET', '/api/jobs');
  const { models } = await expectOk(service, 'GET', '/api/models');
  if (models.length > 2) {
    const oldest = models.map(({ id }: Json) => id).sort((a: number, b: number) => a - b)[0];
    // It may be answering.
    await service.call('DELETE', `/api/models/${oldest}`);
  }
  if (jobs.length > 3) await expectOk(service, 'DELETE', `/api/jobs/${jobs.at(-1).job_id}`);
  await expectOk(service, 'POST', '/api/start_training', quickRequest({ max_steps: 200, save_steps: 50 }));
}

async function upload(service: TestService): Promise<void> {
  assert.is((await service.upload('soak.jsonl', row.repeat(100_000))).status, 200);
  await expectOk(service, 'GET', '/api/datasets/soak.jsonl?rows=5');
  await expectOk(service, 'DELETE', '/api/datasets/soak.jsonl');
}

async function ask(service: TestService): Promise<void> {
  const { models } = await expectOk(service, 'GET', '/api/models');
  if (models.length === 0) return;
  const body = { model_id: models[0].id, prompt: 'a question', max_new_tokens: 32 };
  const { status } = await service.call('POST', '/api/playground/generate', body);
  assert.ok([200, 404, 409].includes(status), String(status));
}

async function watch(service: TestService): Promise<void> {
  const socket = new WebSocket(`${service.url.replace('http', 'ws')}/ws/training`);
  await once(socket, 'message');
  await sleep(1_000);
  socket.close();
  await once(socket, 'close');
}

async function browse(service: TestService): Promise<void> {
  for (const path of [
    '/',
    '/api/info',
    '/api/hardware',
    '/api/jobs',
    '/api/openapi.json',
    '/v1/models',
    '/metrics',
  ]) {
    await expectOk(service, 'GET', path);
  }
  await service.call('GET', '/api/nothing');
  await service.call('POST', '/api/start_training', '{"task":');
}

test(`${minutes} minutes of mixed load leave memory and descriptors flat`, async () => {
  const service = await startService();
  const pid = service.process.pid as number;
  await service.upload('support.jsonl', supportRows());
  const end = performance.now() + 60_000 * minutes;
  const seen: Resources[] = [];
  const repeat = async (work: (service: TestService) => Promise<void>, pauseMs: number) => {
    let rounds = 0;
    for (; performance.now() < end; rounds += 1) {
      await work(service);
      await sleep(pauseMs);
    }
    return rounds;
  };
  const sample = async () => {
    seen.push(resourcesOf(pid));
  };
  const [trained, uploaded, asked, watched, browsed] = await Promise.all([
    ...[
      repeat(train, 2_000),
      repeat(upload, 1_000),
      repeat(ask, 500),
      repeat(watch, 100),
      repeat(browse, 200),
    ],
    repeat(sample, 1_000),
  ]);
  const median = (of: keyof Resources, from: number, to: number) => {
    const values = seen.slice(from * seen.length, to * seen.length).map((one) => one[of]);
    return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;
  };
  // The first fifth is not counted: caches and pools fill.
  const memory = [median('residentBytes', 0.2, 0.6), median('residentBytes', 0.6, 1)] as const;
  const descriptors = [median('descriptors', 0.2, 0.6), median('descriptors', 0.6, 1)] as const;
  console.log(
    `figure: rounds: training ${trained}, upload ${uploaded}, answer ${asked}, socket ${watched}, page ${browsed}; ` +
      `memory ${inMegabytes(memory[0])} → ${inMegabytes(memory[1])}, descriptors ${descriptors[0]} → ${descriptors[1]}`,
  );
  assert.ok(memory[1] - memory[0] < growthBytes, 'memory is flat');
  assert.ok(descriptors[1] <= descriptors[0] + 5, 'descriptors are flat');
  assert.is(service.process.exitCode, null);
  assert.equal(
    service.log.filter(({ level }) => level >= 50).map(({ msg }) => msg),
    [],
  );
});

test.run();
