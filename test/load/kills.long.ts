/**
 * Kills the service, a trainer, the warm trainer or the engine's process at random moments, while datasets are uploaded and
 * deleted and models are trained, exported, asked and deleted. Nothing that the service acknowledged may be lost, no job may
 * run twice, no process may be left behind, and every job ends or can be resumed.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { journalOf, stepsOf, upTo } from '../jobs/journal.ts';
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
import { warmParentEnvironment } from '../warm-parent.ts';

/** As many kills as `npm run test:long -- --count N` says. */
const kills = Number(process.env.HONE_COUNT ?? 1_000);
const random = randomFrom(seed);
const dataDir = temporaryFolder();
const row = '{"input":"a question","output":"an answer"}\n';
const steps = 30;
/** A start without a warm trainer costs nine seconds of CPU time, so few are made. */
const coldShare = 0.03;

let service: TestService;
/** What the service acknowledged, and what it was asked to do without an answer: the latter may have happened or not. */
type Fate = 'kept' | 'deleted' | 'unknown';
const datasets = new Map<string, Fate>();
const rowsOf = new Map<string, number>();
const models = new Map<number, Fate>();
const jobs = new Map<string, Fate>();
/** Launches of each job's trainer that the service may have made. */
const launches = new Map<string, number>();
/** What is under way, so that a kill can be counted by it. */
const underWay = new Map<string, number>();
let lastKill = 'nothing';
const killed: Record<string, number> = {};
const done = { uploads: 0, deletions: 0, starts: 0, resumes: 0, answers: 0, completed: 0 };

test.after(endAll);

const start = () =>
  startService({
    dataDir,
    limits: { warmTrainerIdleMs: 600_000 },
    env: warmParentEnvironment(),
    args: ['--log-level', 'debug'],
  });

/**
 * Waits until a trainer is warm, as it is when somebody has opened the form of the settings. Where memory is short there is
 * none, and the training is only slower.
 */
async function warmUp(): Promise<void> {
  const { log, process } = service;
  const isWarm = () => log.some(({ msg }) => msg === 'A trainer is warm');
  const isOver = async () => {
    // Asked again, because the trainer may be killed before it is warm.
    if (!isWarm()) await call('GET', '/api/finetune/load_settings');
    return isWarm() || process.signalCode !== null;
  };
  await until(isOver, 'a trainer is warm', 30_000).catch(() => undefined);
}

/** @returns `null` when the service ended before it answered. */
const call = (method: string, path: string, body?: unknown) =>
  service.call(method, path, body).catch(() => null);

/** Work that begins within a moment, and is counted while it is under way. */
async function during(what: string, work: () => Promise<void>): Promise<void> {
  await sleep(random() * 20);
  underWay.set(what, (underWay.get(what) ?? 0) + 1);
  await work();
  underWay.set(what, (underWay.get(what) as number) - 1);
}

async function upload(): Promise<void> {
  const name = `set-${datasets.size}.jsonl`;
  const rows = 10 + Math.floor(random() * 20_000);
  datasets.set(name, 'unknown');
  rowsOf.set(name, rows);
  const answer = await service.upload(name, row.repeat(rows)).catch(() => null);
  if (answer === null) return;
  assert.is(answer.status, 200, JSON.stringify(answer.body));
  datasets.set(name, 'kept');
  done.uploads += 1;
}

/** Deletes one of the things that are kept, if there are more than `least`. */
async function remove<K>(
  kept: Map<K, Fate>,
  least: number,
  pathOf: (key: K) => string,
  mayGo: (key: K) => boolean = () => true,
): Promise<void> {
  const keys = [...kept].filter(([key, state]) => state === 'kept' && mayGo(key)).map(([key]) => key);
  if (keys.length <= least) return;
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
  if (random() >= coldShare) await warmUp();
  if (interrupted) {
    launches.set(interrupted.job_id, (launches.get(interrupted.job_id) ?? 1) + 1);
    const answer = await call('POST', `/api/jobs/${interrupted.job_id}/resume`);
    if (answer !== null) assert.is(answer.status, 200, JSON.stringify(answer.body));
    done.resumes += 1;
    return;
  }
  const request = quickRequest({
    max_steps: steps,
    save_steps: 2,
    ...(random() < 0.3 ? { export: 'none' } : {}),
  });
  const answer = await call('POST', '/api/start_training', request);
  done.starts += 1;
  if (answer === null) return;
  assert.is(answer.status, 200, JSON.stringify(answer.body));
  jobs.set(answer.body.job_id, 'kept');
}

async function ask(): Promise<void> {
  const kept = [...models].filter(([, state]) => state === 'kept').map(([id]) => id);
  if (kept.length === 0) return;
  const answer = await call('POST', '/api/playground/generate', {
    model_id: kept[Math.floor(random() * kept.length)],
    prompt: 'a question',
    max_new_tokens: 64,
  });
  if (answer === null) return;
  // The engine's process may be the one that was killed; a model without a GGUF file cannot answer.
  const wasKilled = answer.status >= 500 && /process ended/.test(answer.body.detail);
  assert.ok([200, 400, 404, 409].includes(answer.status) || wasKilled, JSON.stringify(answer.body));
  if (answer.status === 200) done.answers += 1;
}

const processes = (): { pid: number; parent: number; args: string }[] =>
  execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat=,args='], { encoding: 'utf8', maxBuffer: 2 ** 24 })
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line))
    .filter((found) => found !== null && !found[3]?.startsWith('Z'))
    .map((found) => ({ pid: Number(found?.[1]), parent: Number(found?.[2]), args: found?.[4] as string }));

const children = () => processes().filter(({ parent }) => parent === service.process.pid);

function kill(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    process.kill(pid, 'SIGKILL');
    return true;
  } catch {
    return false;
  }
}

/** What the newest job's trainer does: saves a checkpoint, or the phase that its journal names. */
function phaseOfTrainer(): string {
  if (trainersOf(dataDir).length === 0) return 'no trainer';
  const name = readdirSync(join(dataDir, 'jobs'))
    .sort((a, b) => numberOf(a) - numberOf(b))
    .at(-1) as string;
  if (existsSync(join(dataDir, 'jobs', name, 'checkpoints', '.aside'))) return 'saving';
  const journal = join(dataDir, 'jobs', name, 'journal.jsonl');
  const phases = existsSync(journal) ? readFileSync(journal, 'utf8').matchAll(/"phase":"(\w+)"/g) : [];
  return [...phases].at(-1)?.[1] ?? 'starting';
}

const numberOf = (job: string) => Number(job.split('_')[1]);

/** Counts a kill, by what was killed and what it did. */
function count(target: string): void {
  const under = [...underWay].filter(([, number]) => number > 0).map(([what]) => what);
  lastKill = `the ${target} while ${under.join(', ')}`;
  for (const what of [...under.map((what) => `${target} while ${what}`), target])
    killed[what] = (killed[what] ?? 0) + 1;
}

/** Kills one of the processes. A service is started again. */
async function killOne(): Promise<void> {
  const chance = random();
  const phase = phaseOfTrainer();
  underWay.set(phase, 1);
  const before = children();
  const child = (args: RegExp) => before.find((one) => args.test(one.args))?.pid;
  if (chance < 0.2 && kill(child(/inference-worker/))) count('engine');
  else if (chance < 0.45 && kill(trainersOf(dataDir)[0])) count('trainer');
  else if (chance < 0.47 && kill(child(/trainer warm|warm_client/))) count('warm trainer');
  else {
    count('service');
    await service.end('SIGKILL');
    await sleep(random() * 200);
    const left = () => {
      const running = new Set(processes().map(({ pid }) => pid));
      const trainers = new Set(trainersOf(dataDir));
      return before.filter(
        ({ pid, args }) => running.has(pid) && !trainers.has(pid) && !args.startsWith('ps '),
      );
    };
    await until(() => left().length === 0, 'the children of the killed service have ended');
    service = await start();
  }
  underWay.delete(phase);
}

/** Compares what was acknowledged with what is there. */
function compare<K>(what: string, known: Map<K, Fate>, there: Set<K>): void {
  for (const [key, state] of known) {
    if (state !== 'unknown') assert.is(there.has(key), state === 'kept', `${what} ${key} is ${state}`);
  }
}

async function check(): Promise<void> {
  const trainers = trainersOf(dataDir);
  const listed = trainers.map((pid) => processes().find((one) => one.pid === pid)?.args);
  assert.ok(trainers.length <= 1, `one trainer at most, not ${JSON.stringify(listed)} after ${lastKill}`);
  const stored: Json[] = (await service.call('GET', '/api/datasets')).body.datasets;
  compare('dataset', datasets, new Set(stored.map(({ filename }) => filename)));
  for (const { filename, num_examples } of stored)
    if (rowsOf.has(filename)) assert.is(num_examples, rowsOf.get(filename), `${filename} is whole`);

  const made: Json[] = (await service.call('GET', '/api/models')).body.models;
  compare('model', models, new Set(made.map(({ id }) => id)));
  for (const { id } of made) if (!models.has(id)) models.set(id, 'kept');

  const all: Json[] = (await service.call('GET', '/api/jobs')).body.jobs;
  compare('job', jobs, new Set(all.map(({ job_id }) => job_id)));
  for (const job of all) await checkJob(job);
}

const checked = new Set<string>();

/** A job that has ended was completed or can be resumed, and one that completed has each step once. */
async function checkJob({ job_id: id, state, ended_at, error }: Json): Promise<void> {
  if (ended_at === null || state === 'interrupted' || checked.has(id)) return;
  // The service ended before it had prepared the job, and so before it acknowledged the start.
  const unprepared = state === 'failed' && /could be prepared/.test(error?.message) && !jobs.has(id);
  assert.ok(state === 'completed' || unprepared, JSON.stringify([id, state, error]));
  checked.add(id);
  jobs.set(id, 'kept');
  if (unprepared) return;
  done.completed += 1;
  assert.equal(await stepsOf(service, id), upTo(steps), `${id} has every step once`);
  const hellos = journalOf(dataDir, id).filter(({ type }) => type === 'hello').length;
  assert.ok(hellos <= (launches.get(id) ?? 1), `${id} was launched once for each request`);
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
  service = await start();
  await service.upload('support.jsonl', supportRows());
  // The first model is there from the start, so that the engine has work. Kills come at moments of a job on this machine.
  const began = performance.now();
  await train();
  await settled();
  const jobMs = performance.now() - began;
  await check();
  for (let number = 1; number <= kills; number += 1) {
    const under = [during('starting a job', train)];
    const sometimes = (chance: number, what: string, work: () => Promise<void>) => {
      if (random() < chance) under.push(during(what, work));
    };
    sometimes(0.7, 'uploading', upload);
    sometimes(0.5, 'answering', ask);
    sometimes(0.5, 'deleting', () => remove(datasets, 10, (name) => `/api/datasets/${name}`));
    sometimes(0.2, 'deleting', () => remove(models, 3, (id) => `/api/models/${id}`));
    sometimes(0.2, 'deleting', () =>
      remove(
        jobs,
        5,
        (id) => `/api/jobs/${id}`,
        (id) => checked.has(id),
      ),
    );
    // While the requests are handled, or later in the training and its export.
    await sleep(random() * (random() < 0.4 ? 60 : jobMs / 3));
    await killOne();
    await Promise.all(under);
    await check();
    if (number % 25 === 0) console.log(`${number} kills: ${JSON.stringify(killed)}`);
  }
  while ((await settled()).some(({ state }) => state === 'interrupted')) await train();
  await check();
  console.log(`figure: kills ${JSON.stringify(killed)}; meanwhile ${JSON.stringify(done)}`);
  await service.end();
  await until(() => trainersOf(dataDir).length === 0, 'no trainer is left');
});

test.run();
