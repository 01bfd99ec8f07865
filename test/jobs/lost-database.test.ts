/** A database that is lost or damaged, beside the folders of jobs, models and datasets. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
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
import { storeModel } from '../stored-model.ts';
import { littleInstallation } from './little-installation.ts';
import { line, makeArtifacts, makeJobFolder } from './made-folders.ts';

test.after(endAll);

const databaseOf = (dataDir: string) => join(dataDir, 'database', 'hone.sqlite');
const noticeOf = async (service: TestService) =>
  (await service.call('GET', '/api/info')).body.database_notice;
const jobsOf = async (service: TestService): Promise<Json[]> =>
  (await service.call('GET', '/api/jobs')).body.jobs.reverse();
const modelsOf = async (service: TestService): Promise<Json[]> =>
  (await service.call('GET', '/api/models')).body.models.reverse();
/** The jobs, once the service has stored the end of each. */
async function endedJobs(service: TestService, count: number): Promise<Json[]> {
  const isEnded = ({ state }: Json) => ['completed', 'stopped', 'failed', 'interrupted'].includes(state);
  let jobs: Json[] = [];
  await until(async () => {
    jobs = await jobsOf(service);
    return jobs.length === count && jobs.every(isEnded);
  }, 'every job has ended');
  return jobs;
}

test('jobs, models and datasets that lie on disk are registered again beside an empty or missing database', async () => {
  const dataDir = temporaryFolder();
  const run = [line('hello'), line('phase'), line('metric')];
  const done = [...run, line('artifact'), line('done')];
  makeArtifacts(makeJobFolder(dataDir, 2, done));
  makeJobFolder(dataDir, 3, [
    ...[...run, line('done', { outcome: 'stopped' })],
    ...[line('hello', { resumed_from_step: 2 }), line('metric', { step: 3, loss: 1.5 }), line('failed')],
  ]);
  makeJobFolder(dataDir, 4, run);
  makeJobFolder(dataDir, 5, null);
  // Completed, and its model was deleted.
  makeJobFolder(dataDir, 6, done);
  const unreadable = makeJobFolder(dataDir, 10, run);
  writeFileSync(join(unreadable, 'spec.json'), '{"job_id":');
  mkdirSync(join(dataDir, 'datasets'));
  writeFileSync(join(dataDir, 'datasets', 'support.jsonl'), supportRows());

  let service = await startService({ dataDir });
  assert.equal(
    (await endedJobs(service, 5)).map(({ job_id, state, model_name }) => [job_id, state, model_name]),
    [
      ['train_2', 'completed', 'owner/name'],
      ['train_3', 'failed', 'owner/name'],
      ['train_4', 'interrupted', 'owner/name'],
      ['train_5', 'interrupted', 'owner/name'],
      ['train_6', 'completed', 'owner/name'],
    ],
  );
  const notice = await noticeOf(service);
  assert.match(notice, /5 jobs and 0 models/);
  assert.match(notice, /train_10 could not be read/);
  assert.ok(service.log.some(({ msg }) => msg === notice));

  const failed = (await service.call('GET', '/api/jobs/train_3')).body;
  assert.is(failed.error.code, 'out_of_memory_gpu');
  assert.is(failed.ended_at, line('failed').time, 'as its journal says');
  const { train } = (await service.call('GET', '/api/jobs/train_3/metrics')).body;
  assert.equal(
    train.map(({ step, loss, time }: Json) => [step, loss, time]),
    [
      [line('metric').step, line('metric').loss, line('metric').time],
      [3, 1.5, line('metric').time],
    ],
  );
  assert.is((await service.call('GET', '/api/datasets')).body.datasets[0].num_examples, 400);
  const [model] = await modelsOf(service);
  assert.is(model.created_at, line('done').time);
  const { body: lineage } = await service.call('GET', `/api/models/${model.id}/lineage`);
  assert.equal(
    lineage.files.map(({ name }: Json) => name),
    ['adapter/adapter_config.json', 'model-Q8_0.gguf'],
  );

  // Once more, with the model's folder, whose job is gone by now.
  assert.is((await service.call('DELETE', '/api/jobs/train_2')).status, 200);
  const before = (await service.call('GET', `/api/models/${model.id}/lineage`)).body;
  await service.end();
  for (const name of readdirSync(join(dataDir, 'database'))) {
    if (name.startsWith('hone.sqlite')) rmSync(join(dataDir, 'database', name), { recursive: true });
  }
  service = await startService({ dataDir });
  await endedJobs(service, 4);
  assert.match(await noticeOf(service), /4 jobs and 1 model/);
  const [again] = await modelsOf(service);
  assert.equal((await service.call('GET', `/api/models/${again.id}/lineage`)).body, {
    ...before,
    job_id: null,
  });
  await service.end();

  // An ordinary start says nothing, and registers nothing twice.
  service = await startService({ dataDir });
  assert.is(await noticeOf(service), undefined);
  assert.equal([(await jobsOf(service)).length, (await modelsOf(service)).length], [4, 1]);
  await service.end();
});

test('a training that runs while the database is lost is found again, and can be stopped', async () => {
  const dataDir = temporaryFolder();
  const options = {
    dataDir,
    env: littleInstallation('deaf-to-stop'),
    limits: { stopAskMs: 300, stopTermMs: 300, backupEveryMs: 3_600_000 },
  };
  let service = await startService(options);
  await service.upload('support.jsonl', supportRows());
  const [{ id: file }] = (await service.call('GET', '/v1/files')).body.data;
  const started = await service.call('POST', '/v1/fine_tuning/jobs', {
    ...{ model: quickRequest().model_name, training_file: file },
    ...{ suffix: 'support', metadata: { team: 'two' } },
  });
  assert.is(started.status, 200, JSON.stringify(started.body));
  const running = async () => (await jobsOf(service))[0]?.state === 'running';
  await until(running, 'it runs');
  await service.end('SIGKILL');
  truncateSync(databaseOf(dataDir), 0);
  service = await startService(options);
  await until(running, 'it is found again');
  const { body: found } = await service.call('GET', `/v1/fine_tuning/jobs/${started.body.id}`);
  const { user_provided_suffix, metadata, training_file } = found;
  assert.equal([user_provided_suffix, metadata, training_file], ['support', { team: 'two' }, file]);
  assert.is((await service.call('POST', '/api/start_training', quickRequest())).status, 409);
  assert.is(trainersOf(dataDir).length, 1);
  assert.is((await service.call('POST', '/api/stop_training')).body.status, 'stopped');
  assert.equal(trainersOf(dataDir), []);
  await service.end();
});

test('a sweep whose database is lost goes on with the trials that it had', async () => {
  const dataDir = temporaryFolder();
  const options = { dataDir, env: { ...littleInstallation('evaluates'), HONE_TEST_PACE_MS: '40' } };
  let service = await startService(options);
  await service.upload('support.jsonl', supportRows());
  const space = { learning_rate: { low: 1e-5, high: 1e-1, log: true } };
  const request = quickRequest({ eval_split: 0.1, max_steps: 27, space, trials: 4, seed: 11 });
  const started = await service.call('POST', '/api/sweeps', request);
  assert.is(started.status, 200, JSON.stringify(started.body));
  const read = async () => (await service.call('GET', '/api/sweeps/sweep_1')).body;
  await until(async () => (await read()).trials_started[1]?.state === 'running', 'a second runs', 300_000);
  await service.end('SIGKILL');
  const file = join(dataDir, 'jobs', 'sweep_1.json');
  const { trials } = JSON.parse(readFileSync(file, 'utf8'));
  for (const name of readdirSync(join(dataDir, 'database'))) {
    if (name.startsWith('hone.sqlite')) rmSync(join(dataDir, 'database', name), { recursive: true });
  }
  writeFileSync(join(dataDir, 'jobs', 'sweep_9.json'), '{"sweep": 1');

  service = await startService(options);
  const notice = await noticeOf(service);
  assert.match(notice, /\d jobs and \d models?\. The same is true of 1 sweep\./);
  assert.match(notice, /sweep_9\.json could not be read/);
  await until(async () => (await read()).state !== 'running', 'it has ended', 300_000);
  const sweep = await read();
  assert.is(sweep.state, 'completed', sweep.error);
  assert.equal(
    sweep.trials_started.slice(0, trials.length).map(({ parameters }: Json) => parameters),
    trials.map(({ parameters }: Json) => parameters),
  );
  const { created_at, started: all, best_request } = sweep;
  assert.equal([created_at, all, best_request.seed], [started.body.created_at, 4, 11]);
  assert.ok(sweep.trials_started.every(({ state }: Json) => /^(completed|culled)$/.test(state)));
  assert.is((await service.call('DELETE', '/api/sweeps/sweep_1')).status, 200);
  assert.not(existsSync(file));
  await service.end();
});

test('a damaged database is replaced by its backup, with what came after the backup from the folders', async () => {
  const dataDir = temporaryFolder();
  let service = await startService({ dataDir, limits: { backupEveryMs: 500 } });
  await service.upload('early.jsonl', supportRows());
  const body = { task: 'summarization' };
  await service.call('POST', '/api/finetune/detect', body);
  const backups = `${databaseOf(dataDir)}-backups`;
  const made = () =>
    existsSync(backups) ? readdirSync(backups).filter((name) => name.endsWith('Z.sqlite')) : [];
  await until(() => made().length > 0, 'a backup was made');
  const { body: info } = await service.call('GET', '/api/info');
  assert.is(info.database_notice, undefined);
  await service.end();
  // After the backup.
  makeJobFolder(dataDir, 7, [line('hello'), line('failed')]);
  const damaged = readFileSync(databaseOf(dataDir)).fill(0, 100);
  writeFileSync(databaseOf(dataDir), damaged);

  service = await startService({ dataDir });
  const [job] = await endedJobs(service, 1);
  assert.equal([job.job_id, job.state], ['train_7', 'failed']);
  assert.is((await service.call('GET', '/api/datasets')).body.datasets[0].filename, 'early.jsonl');
  const notice = await noticeOf(service);
  assert.match(
    notice,
    /could not be used: .*It was moved to .*damaged-.*The backup of 20.*1 job and 0 models/,
  );
  const aside = /moved to (\S+\.damaged-\S+)\./.exec(notice)?.[1] as string;
  assert.ok(readFileSync(aside).equals(damaged), 'kept as it was');
  await service.end();
});

test('two services do not open one database', async () => {
  const first = await startService();
  const env = { SERVICE_DB_PATH: databaseOf(first.dataDir) };
  let message = '';
  await startService({ env }).catch((error) => {
    message = error.message;
  });
  assert.match(
    message,
    `hone: The database ${env.SERVICE_DB_PATH} is in use by process ${first.process.pid}`,
  );
  assert.match(message, first.url);
  await first.end();
});

test('a model of an earlier version is described in its folder, and found again by that', async () => {
  const dataDir = temporaryFolder();
  const { modelId } = storeModel(dataDir);
  const described = join(dataDir, 'model_checkpoints', modelId, 'model.json');
  rmSync(described, { force: true });
  let service = await startService({ dataDir });
  await until(() => existsSync(described), 'the model is described');
  const [before] = await modelsOf(service);
  await service.end();
  for (const name of readdirSync(join(dataDir, 'database'))) {
    if (name.startsWith('hone.sqlite')) rmSync(join(dataDir, 'database', name), { recursive: true });
  }
  service = await startService({ dataDir });
  const [after] = await modelsOf(service);
  assert.equal({ ...after, id: before.id }, before);
});

test.run();
