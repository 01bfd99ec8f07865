/**
 * Kills the service, the trainer or the engine's process at random moments, while datasets are uploaded and deleted and
 * models are trained, exported, asked and deleted. Nothing that the service acknowledged may be lost, no job may run
 * twice, no process may be left behind, and every job ends or can be resumed.
 */
import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { journalOf } from '../jobs/journal.ts';
import { randomFrom, seed } from '../random.ts';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  trainersOf,
  until,
} from '../service.ts';

/** As many kills as `npm run test:long -- --count N` says. */
const kills = Number(process.env.HONE_COUNT ?? 1_000);
const random = randomFrom(seed);
const dataDir = temporaryFolder();
const row = '{"input":"a question","output":"an answer"}\n';

let service: TestService;
/** What the service acknowledged, and what it was asked to do without an answer: the latter may have happened or not. */
const datasets = new Map<string, 'kept' | 'deleted' | 'unknown'>();
const models = new Map<number, 'kept' | 'deleted' | 'unknown'>();
/** Launches of each job's trainer that the service may have made. */
const launches = new Map<string, number>();
const done = {
  service: 0,
  trainer: 0,
  engine: 0,
  uploads: 0,
  deletions: 0,
  starts: 0,
  resumes: 0,
  answers: 0,
};

test.after(endAll);

/** @returns `null` when the service ended before it answered. */
const call = (method: string, path: string, body?: unknown) =>
  service.call(method, path, body).catch(() => null);

async function upload(): Promise<void> {
  const name = `set-${datasets.size}.jsonl`;
  datasets.set(name, 'unknown');
  const answer = await service.upload(name, row.repeat(10 + Math.floor(random() * 20_000))).catch(() => null);
  if (answer === null) return;
  assert.is(answer.status, 200, JSON.stringify(answer.body));
  datasets.set(name, 'kept');
  done.uploads += 1;
}

/** Deletes one of the things that are kept. */
async function remove<K>(kept: Map<K, string>, pathOf: (key: K) => string): Promise<void> {
  const keys = [...kept].filter(([, state]) => state === 'kept').map(([key]) => key);
  if (keys.length < 3) return;
  const key = keys[Math.floor(random() * keys.length)] as K;
  kept.set(key, 'unknown');
  const answer = await call('DELETE', pathOf(key));
  if (answer === null) return;
  // A model that is answering a request cannot be deleted.
  assert.ok([200, 409].includes(answer.status), JSON.stringify(answer.body));
  kept.set(key, answer.status === 200 ? 'deleted' : 'kept');
  if (answer.status === 200) done.deletions += 1;
}

/** Resumes an interrupted job, or starts a new one, unless one is running. */
async function train(): Promise<void> {
  const listed = await call('GET', '/api/jobs');
  if (listed === null || listed.body.jobs.some((job: Json) => job.ended_at === null)) return;
  const interrupted = listed.body.jobs.find((job: Json) => job.state === 'interrupted');
  if (interrupted) {
    launches.set(interrupted.job_id, (launches.get(interrupted.job_id) ?? 1) + 1);
    const answer = await call('POST', `/api/jobs/${interrupted.job_id}/resume`);
    if (answer !== null) assert.is(answer.status, 200, JSON.stringify(answer.body));
    done.resumes += 1;
    return;
  }
  const answer = await call('POST', '/api/start_training', quickRequest({ max_steps: 40, save_steps: 5 }));
  if (answer !== null) assert.is(answer.status, 200, JSON.stringify(answer.body));
  done.starts += 1;
}

async function ask(): Promise<void> {
  const listed = await call('GET', '/api/models');
  for (const model of listed?.body.models ?? []) {
    if (!models.has(model.id)) models.set(model.id, 'kept');
  }
  const kept = [...models].filter(([, state]) => state === 'kept').map(([id]) => id);
  if (kept.length === 0) return;
  const answer = await call('POST', '/api/playground/generate', {
    model_id: kept[Math.floor(random() * kept.length)],
    prompt: 'a question',
    max_new_tokens: 64,
  });
  if (answer === null) return;
  // The engine's process may be the one that was killed.
  const wasKilled = answer.status >= 500 && /process ended/.test(answer.body.detail);
  assert.ok([200, 404, 409].includes(answer.status) || wasKilled, JSON.stringify(answer.body));
  if (answer.status === 200) done.answers += 1;
}

const processes = (): { pid: number; parent: number; args: string }[] =>
  execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat=,args='], { encoding: 'utf8', maxBuffer: 2 ** 24 })
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line))
    .filter((found) => found !== null && !found[3]?.startsWith('Z'))
    .map((found) => ({ pid: Number(found?.[1]), parent: Number(found?.[2]), args: found?.[4] as string }));

const engineProcess = () =>
  processes().find(({ parent, args }) => parent === service.process.pid && args.includes('inference-worker'));

function kill(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    process.kill(pid, 'SIGKILL');
    return true;
  } catch {
    return false;
  }
}

/** Kills one of the processes. A service is started again. */
async function killOne(): Promise<void> {
  const chance = random();
  if (chance < 0.25 && kill(engineProcess()?.pid)) {
    done.engine += 1;
  } else if (chance < 0.4 && kill(trainersOf(dataDir)[0])) {
    done.trainer += 1;
  } else {
    const children = processes().filter(({ parent }) => parent === service.process.pid);
    await service.end('SIGKILL');
    done.service += 1;
    await sleep(random() * 500);
    const left = () => {
      const running = new Set(processes().map(({ pid }) => pid));
      const trainers = new Set(trainersOf(dataDir));
      return children.filter(
        ({ pid, args }) => running.has(pid) && !trainers.has(pid) && !args.startsWith('ps '),
      );
    };
    await until(() => left().length === 0, 'the children of the killed service have ended');
    service = await startService({ dataDir });
  }
}

async function check(): Promise<void> {
  assert.ok(trainersOf(dataDir).length <= 1, 'one trainer at most');
  const stored = new Set(
    (await service.call('GET', '/api/datasets')).body.datasets.map(({ filename }: Json) => filename),
  );
  for (const [name, state] of datasets) {
    if (state !== 'unknown') assert.is(stored.has(name), state === 'kept', `${name} is ${state}`);
  }
  const { body } = await service.call('GET', '/api/models');
  const listed = new Set(body.models.map(({ id }: Json) => id));
  for (const [id, state] of models) {
    if (state !== 'unknown') assert.is(listed.has(id), state === 'kept', `model ${id} is ${state}`);
  }
}

async function settled(): Promise<Json[]> {
  return until(
    async () => {
      const { jobs } = (await service.call('GET', '/api/jobs')).body;
      return jobs.every((job: Json) => job.ended_at !== null) && jobs;
    },
    'every job ended',
    600_000,
  );
}

test(`${kills} kills at random moments (seed ${seed})`, async () => {
  service = await startService({ dataDir });
  await service.upload('support.jsonl', supportRows());
  // The first model is there from the start, so that the engine has work.
  await train();
  await settled();
  for (let number = 0; number < kills; number += 1) {
    const under = [train(), upload(), ask()];
    if (random() < 0.3) under.push(remove(datasets, (name) => `/api/datasets/${name}`));
    if (random() < 0.1) under.push(remove(models, (id) => `/api/models/${id}`));
    await sleep(random() * 4_000);
    await killOne();
    await Promise.all(under);
    await check();
  }
  for (
    let jobs = await settled();
    jobs.some(({ state }) => state === 'interrupted');
    jobs = await settled()
  ) {
    await train();
  }
  const jobs = await settled();
  const states: Record<string, number> = {};
  for (const job of jobs) {
    states[job.state] = (states[job.state] ?? 0) + 1;
    const hellos = journalOf(dataDir, job.job_id).filter((line) => line.type === 'hello').length;
    assert.ok(hellos <= (launches.get(job.job_id) ?? 1), `${job.job_id} was launched once for each request`);
  }
  await check();
  console.log(`figure: ${JSON.stringify(done)}; jobs ${JSON.stringify(states)}`);
  assert.equal(
    Object.keys(states).filter((state) => state !== 'completed'),
    [],
    JSON.stringify(jobs.map((job) => [job.job_id, job.state, job.message])),
  );
});

test.run();
