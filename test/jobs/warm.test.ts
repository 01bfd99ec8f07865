/** A trainer that was forked from a warm one is, to everybody, a trainer. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Database } from '../../src/db/sqlite.ts';
import { childrenOf } from '../children.ts';
import {
  endAll,
  type Json,
  quickRequest,
  type ServiceOptions,
  startService,
  supportRows,
  type TestService,
  trainersOf,
  until,
  untilEnded,
} from '../service.ts';
import { journalOf, stepsOf, upTo } from './journal.ts';

test.after(endAll);

/** What `python -m trainer warm` a service has started. */
const warmOf = (service: TestService) => childrenOf(service.process.pid, '-m trainer warm');

/** A service with a dataset, whose trainer is warm because somebody has asked for an estimate. */
async function warmService(options: ServiceOptions = {}): Promise<TestService> {
  const service = await startService({
    args: ['--log-level', 'debug'],
    ...options,
    limits: { warmTrainerIdleMs: 600_000, ...options.limits },
  });
  await service.upload('support.jsonl', supportRows());
  assert.equal(warmOf(service), []);
  assert.is((await service.call('POST', '/api/estimate', quickRequest())).status, 200);
  await until(() => service.log.some((line: Json) => line.msg === 'A trainer is warm'), 'a trainer is warm');
  return service;
}

/** The one trainer of a data directory, once it is there. */
const trainerOf = async (dataDir: string): Promise<number> => {
  await until(() => trainersOf(dataDir).length === 1, 'there is a trainer');
  return trainersOf(dataDir)[0] as number;
};

let first: TestService;
test.before(async () => {
  first = await warmService({ env: { HUB_TOKEN: 'hf_secret' } });
});

const start = async (service: TestService, fields: Json) => {
  const { status, body } = await service.call('POST', '/api/start_training', quickRequest(fields));
  assert.is(status, 200, JSON.stringify(body));
  return body.job_id as string;
};

test('jobs are forked from it, each in its own session; a killed one is reported', async () => {
  const service = first;
  const [warm] = warmOf(service) as [number];
  const job = await start(service, { max_steps: 40 });
  const trainer = await trainerOf(service.dataDir);
  const [parent, session] = execFileSync('ps', ['-o', 'ppid=,sid=', '-p', String(trainer)], {
    encoding: 'utf8',
  })
    .trim()
    .split(/\s+/)
    .map(Number);
  assert.equal([parent, session], [warm, trainer]);
  assert.not.match(readFileSync(`/proc/${warm}/environ`, 'utf8'), 'hf_secret');
  assert.is((await untilEnded(service)).status, 'completed');
  assert.is(journalOf(service.dataDir, job).find((line) => line.type === 'hello').pid, trainer);
  assert.is((await service.call('GET', `/api/jobs/${job}`)).body.state, 'completed');
  assert.match((await service.call('GET', `/api/jobs/${job}/log`)).body.log, /\w/);

  const killed = await start(service, { max_steps: 5_000, export: 'none' });
  await until(
    async () => (await service.call('GET', '/api/training_status')).body.current_step > 2,
    'it steps',
  );
  const second = await trainerOf(service.dataDir);
  assert.is.not(second, trainer);
  process.kill(second, 'SIGKILL');
  await untilEnded(service);
  const { error } = (await service.call('GET', `/api/jobs/${killed}`)).body;
  assert.match(error.message, 'SIGKILL');
});

test('a job outlives the server that had it forked; the next one finds it, also without its stored number', async () => {
  const { dataDir } = first;
  const [warm] = warmOf(first) as [number];
  const job = await start(first, { max_steps: 400, export: 'none' });
  const trainer = await trainerOf(dataDir);
  await first.end('SIGKILL');
  await until(() => !existsSync(`/proc/${warm}`), 'the warm one has ended with the server');
  const database = new Database(join(dataDir, 'database', 'hone.sqlite'));
  database.exec('UPDATE jobs SET pid = NULL, pid_started = NULL');
  database.close();
  const second = await startService({ dataDir });
  assert.equal(trainersOf(dataDir), [trainer]);
  assert.is((await untilEnded(second)).status, 'completed');
  const series = await stepsOf(second, job);
  assert.equal(series, upTo(400));
  assert.is(journalOf(dataDir, job).filter((line) => line.type === 'hello').length, 1);
});

test('what is not used is given back, and a start without a warm one starts from nothing', async () => {
  const service = await warmService({ limits: { warmTrainerIdleMs: 1_000 } });
  await until(() => warmOf(service).length === 0, 'it is gone');
  await start(service, { max_steps: 3, export: 'none' });
  assert.is((await untilEnded(service)).status, 'completed');
});

test.run();
