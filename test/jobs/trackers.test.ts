/** Trackers of a run that are not there, or cannot be used, are told of and change nothing; their keys are kept. */
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runHone } from '../cli/run-hone.ts';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  until,
} from '../service.ts';
import { littleInstallation } from './little-installation.ts';

let service: TestService;
test.before(async () => {
  service = await startService({ env: littleInstallation('export-fails') });
  await service.upload('support.jsonl', supportRows());
});
test.after(endAll);

const start = (changes: object) =>
  service.call('POST', '/api/start_training', quickRequest({ export: 'none', ...changes }));
const state = async (job: string): Promise<string> =>
  (await service.call('GET', `/api/jobs/${job}`)).body.state;
const warnings = async (job: string): Promise<string[]> =>
  (await service.call('GET', `/api/jobs/${job}/events`)).body.events
    .filter(({ code }: Json) => code === 'tracker_failed')
    .map(({ message }: Json) => message);

test('a run whose trackers are not installed, or broken, completes and says so', async () => {
  // As an installation that lost its files.
  mkdirSync(join(service.dataDir, 'trackers', 'mlflow', 'packages'), { recursive: true });
  const { status, body } = await start({ report_to: ['wandb', 'mlflow', 'wandb'], project: 'mail' });
  assert.is(status, 200, JSON.stringify(body));
  await until(async () => (await state('train_1')) === 'completed', 'the run completed');
  await until(async () => (await warnings('train_1')).length === 2, 'both are told of');
  const [broken = '', missing = ''] = (await warnings('train_1')).sort();
  assert.match(missing, /^Weights & Biases .* not installed\. "hone track add wandb"/);
  assert.match(
    broken,
    /^MLflow does not have all figures .*tracker-mlflow\.log in the folder of the run says why/,
  );
  const { request } = (await service.call('GET', '/api/jobs/train_1')).body;
  assert.equal([request.report_to, request.project], [['wandb', 'mlflow'], 'mail']);
});

test('unknown trackers, and projects that no tracker takes, are refused by name', async () => {
  for (const [field, value] of [
    ['report_to', ['dance']],
    ['report_to', 'wandb'],
    ['project', 'a/b'],
    ['project', ''],
  ] as const) {
    const { status, body } = await start({ [field]: value });
    assert.is(status, 400, field);
    assert.match(JSON.stringify(body), field);
  }
});

test('the command keeps keys for their user alone, never shows them, and removes them', async () => {
  const hone = (input: string, ...args: string[]) =>
    runHone(['track', ...args], { cwd: service.dataDir, env: { SERVICE_DATA_DIR: service.dataDir }, input });
  const path = join(service.dataDir, 'tracker-keys.json');
  const kept = await hone('secret-of-the-tracker\n', 'key', 'wandb');
  assert.equal([kept.code, kept.out], [0, ''], kept.errors);
  assert.not.match(kept.errors, 'secret');
  assert.equal(JSON.parse(readFileSync(path, 'utf8')), { wandb: 'secret-of-the-tracker' });
  if (process.platform !== 'win32') assert.is(statSync(path).mode & 0o777, 0o600);
  const listed = await hone('', 'list');
  assert.is(listed.out, 'wandb: not installed, with a key\nmlflow: installed\ntrackio: not installed\n');
  assert.is((await hone('', 'key', 'mlflow')).errors, 'hone: No key: type it, or pipe it in.\n');
  assert.match((await hone('', 'add', 'dance')).errors, /one of wandb, mlflow, trackio/);
  for (const name of ['wandb', 'mlflow']) assert.is((await hone('', 'remove', name)).code, 0);
  assert.equal(JSON.parse(readFileSync(path, 'utf8')), {});
  assert.not.ok(existsSync(join(service.dataDir, 'trackers', 'mlflow', 'packages')));
});

test.run();
