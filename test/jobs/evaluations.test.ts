/** `/api/evaluations`: one after another, making room for trainings, across a killed service, and cancelled. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Description, readDescription } from '../api/description.ts';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  tinyModel,
  until,
} from '../service.ts';
import { letGo, littleInstallation } from './little-installation.ts';

const dataDir = temporaryFolder();
const env = littleInstallation('polite');
let service: TestService;
let description: Description;

async function ask(method: string, path: string, body?: unknown) {
  const answer = await service.call(method, path, body);
  description.check(method, path, answer);
  return answer;
}
const ofBase = (changes: object = {}) => ({
  ...{ dataset: 'support.jsonl', base_model: tinyModel('llama'), rows: 12 },
  ...changes,
});
async function start(changes: object = {}): Promise<Json> {
  const { status, body } = await ask('POST', '/api/evaluations', ofBase(changes));
  assert.is(status, 200, JSON.stringify(body));
  return body;
}
const states = async (): Promise<string[]> =>
  (await ask('GET', '/api/evaluations')).body.evaluations.map(({ state }: Json) => state).reverse();
const become = (wanted: readonly string[]) =>
  until(async () => `${await states()}` === `${wanted}`, `the states are ${wanted}`, 300_000);
const get = async (id: string): Promise<Json> => (await ask('GET', `/api/evaluations/${id}`)).body;
const folder = (id: string) => join(dataDir, 'evaluations', id);
/** Waits until the process of an evaluation has begun. */
const begun = (id: string) =>
  until(async () => (await get(id)).progress === 0.5, `${id} has told of its progress`, 300_000);
/** Tells the process of an evaluation how to end. */
const go = (id: string, how: string) => letGo(folder(id), how);
const pidOf = (id: string): number =>
  JSON.parse(readFileSync(join(folder(id), 'journal.jsonl'), 'utf8').split('\n')[0] as string).pid;
const hasEnded = (pid: number) =>
  until(() => {
    try {
      process.kill(pid, 0);
      return readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z ');
    } catch {
      return true;
    }
  }, `the process ${pid} has ended`);

test.before(async () => {
  service = await startService({ dataDir, env });
  description = await readDescription(service);
  await service.upload('support.jsonl', supportRows());
});
test.after(endAll);

test('they run one after another, make room for a training, and keep the results of their rows', async () => {
  const first = await start();
  assert.is(first.evaluation_id, 'eval_1');
  assert.equal([first.rows, first.row_shape, first.figures], [12, 'input-output', null]);
  const rows = supportRows().split('\n').slice(0, 12).join('\n');
  assert.is(first.rows_digest, createHash('sha256').update(`${rows}\n`).digest('hex'));
  await start({ rows: null });
  await begun('eval_1');
  const running = await get('eval_1');
  assert.equal([running.state, running.phase, running.detail], ['running', 'evaluate', 'half of it']);
  assert.equal(await states(), ['running', 'queued']);
  assert.is((await get('eval_2')).rows, Math.min(200, supportRows().trim().split('\n').length));
  const pid = pidOf('eval_1');
  assert.is((await service.call('POST', '/api/start_training', quickRequest())).status, 200);
  await become(['queued', 'queued']);
  await hasEnded(pid);
  assert.is((await service.call('POST', '/api/stop_training')).status, 200);
  await begun('eval_1');
  go('eval_1', 'an answer');
  await become(['completed', 'running']);
  const done = await get('eval_1');
  assert.equal([done.figures, done.warnings, done.progress], [{ loss: 2.5 }, ['One row is cut.'], null]);
  assert.is(done.results.length, 12);
  const [row] = supportRows()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal(done.results[0], {
    ...{ line: 1, prompt: row.input, reference: row.output, rejected: null, answer: 'an answer' },
    figures: { loss: 0 },
  });
  assert.not(existsSync(folder('eval_1')));
});

test('after a killed service the running one has failed, and the queue goes on', async () => {
  await begun('eval_2');
  await start();
  const pid = pidOf('eval_2');
  await service.end('SIGKILL');
  service = await startService({ dataDir, env });
  await hasEnded(pid);
  await become(['completed', 'failed', 'running']);
  assert.match((await get('eval_2')).error, 'The service was killed while it ran');
  assert.is((await get('eval_1')).results.length, 12);
  await begun('eval_3');
});

test('ending the service puts the running one back into the queue', async () => {
  const pid = pidOf('eval_3');
  await service.end('SIGTERM');
  await hasEnded(pid);
  service = await startService({ dataDir, env });
  await become(['completed', 'failed', 'running']);
  await begun('eval_3');
  assert.is.not(pidOf('eval_3'), pid);
});

test('those that run or wait are cancelled by deleting them', async () => {
  const pid = pidOf('eval_3');
  // U+2028 ends a line of text, but no row.
  const rows = ['{"input":"one\u2028line","output":"a"}', '', '{"input":"two","output":"b"}', ''].join('\n');
  await service.upload('breaks.jsonl', `${rows}${supportRows()}`);
  await start({ dataset: 'breaks.jsonl', rows: 2 });
  assert.is(readFileSync(join(folder('eval_4'), 'dataset.jsonl'), 'utf8'), rows);
  await start();
  assert.is((await ask('DELETE', '/api/evaluations/eval_4')).status, 200);
  assert.is((await ask('DELETE', '/api/evaluations/eval_3')).status, 200);
  await hasEnded(pid);
  for (const id of ['eval_3', 'eval_4']) {
    assert.is((await ask('GET', `/api/evaluations/${id}`)).status, 404);
    assert.is((await ask('DELETE', `/api/evaluations/${id}`)).status, 404);
    assert.not(existsSync(folder(id)));
  }
  await become(['completed', 'failed', 'running']);
});

test('a process that fails tells why, and the next one starts', async () => {
  await start();
  await begun('eval_5');
  go('eval_5', 'crash');
  await begun('eval_6');
  assert.match((await get('eval_5')).error, /exit code 3.*the rows do not fit/);
  go('eval_6', 'fail');
  await become(['completed', 'failed', 'failed', 'failed']);
  assert.is((await get('eval_6')).error, 'The disk is full. Free some.');
});

test('a checkpoint is scored with the template of its run, until it is gone', async () => {
  const run = join(dataDir, 'jobs', 'train_1');
  const checkpoint = join(run, 'checkpoints', 'checkpoint-3');
  mkdirSync(checkpoint, { recursive: true });
  mkdirSync(join(run, 'artifacts'), { recursive: true });
  writeFileSync(join(checkpoint, 'COMPLETE'), '{"step":3}');
  writeFileSync(join(run, 'artifacts', 'template.json'), '{}');
  const ofRun = { base_model: null, model: 'train_1' };
  const { evaluation_id: id, ...begins } = await start({ ...ofRun, checkpoint: 3 });
  assert.equal([begins.job_id, begins.checkpoint, begins.base_model], ['train_1', 3, tinyModel('llama')]);
  await begun(id);
  const { adapter, template } = JSON.parse(readFileSync(join(folder(id), 'evaluate.json'), 'utf8'));
  assert.equal([adapter, template], [checkpoint, join(run, 'artifacts', 'template.json')]);
  assert.is((await ask('DELETE', `/api/evaluations/${id}`)).status, 200);
  async function refused(step: number): Promise<string> {
    const answer = await ask('POST', '/api/evaluations', ofBase({ ...ofRun, checkpoint: step }));
    assert.is(answer.status, 400);
    return answer.body.detail;
  }
  assert.match(await refused(4), 'train_1 keeps no checkpoint of step 4. It has step 3.');
  rmSync(join(run, 'artifacts'), { recursive: true });
  assert.is(await refused(3), 'train_1 has no prompt template, so it cannot answer.');
  rmSync(checkpoint, { recursive: true });
  assert.match(await refused(3), 'keeps no checkpoint of step 3. It has none.');
});

test('a base model without a template for tools is asked in the syntax of Hermes', async () => {
  const { evaluation_id: id, name } = await start({ tool_syntax: 'hermes' });
  assert.is(name, `${tinyModel('llama')}, with tools in Hermes’ syntax`);
  await begun(id);
  const { settings } = JSON.parse(readFileSync(join(folder(id), 'spec.json'), 'utf8'));
  assert.is(settings.tool_syntax, 'hermes');
  assert.is((await ask('DELETE', `/api/evaluations/${id}`)).status, 200);
});

test('what cannot be scored is refused with the reason', async () => {
  const cases: readonly [object, number, RegExp][] = [
    [{ base_model: null }, 400, /Set one of model/],
    [{ model: 'some' }, 400, /Set one of model/],
    [{ checkpoint: 3 }, 400, /checkpoint needs model/],
    [{ base_model: null, model: 'none' }, 404, /no model/],
    [{ base_model: null, model: 'some', tool_syntax: 'hermes' }, 400, /tool_syntax needs base_model/],
    [{ tool_syntax: 'other' }, 400, /tool_syntax/],
    [{ rows: 0 }, 400, /rows must be at least 1/],
    [{ rows: 10_001 }, 400, /rows must be at most 10000/],
    [{ dataset: 'none.jsonl' }, 404, /none\.jsonl/],
    [{ base_model: '/nowhere/at/all' }, 400, /does not exist/],
    [{ base_model: tinyModel('bert') }, 400, /cannot be trained for text-generation/],
  ];
  for (const [changes, status, why] of cases) {
    const answer = await ask('POST', '/api/evaluations', ofBase(changes));
    assert.is(answer.status, status, JSON.stringify([changes, answer.body]));
    assert.match(JSON.stringify(answer.body), why);
  }
  const several = await ask('POST', '/api/evaluations', { dataset: 'none.jsonl', rows: 0 });
  for (const why of [/none\.jsonl/, /rows must be at least 1/, /Set one of model/])
    assert.match(several.body.detail, why);
  assert.is((await states()).length, 4, 'nothing was started');
});

test('beside a lost database they are listed again from their files, and the queue goes on', async () => {
  const list = async (): Promise<Json[]> => (await ask('GET', '/api/evaluations')).body.evaluations;
  const ended = await list();
  const results = (await get('eval_1')).results;
  await start();
  const running = (await list())[0].evaluation_id;
  await begun(running);
  const waiting = (await start({ rows: 3 })).evaluation_id;
  await service.end('SIGKILL');
  rmSync(join(dataDir, 'database'), { recursive: true });
  const damaged = join(dataDir, 'evaluations', 'eval_99.json');
  writeFileSync(damaged, '{"evaluation":');

  service = await startService({ dataDir, env });
  const notice = (await service.call('GET', '/api/info')).body.database_notice;
  assert.match(notice, `The same is true of ${ended.length + 2} evaluations.`);
  assert.match(notice, /eval_99\.json could not be read/);
  await begun(waiting);
  assert.ok(existsSync(damaged), 'it can be repaired');
  const [last, killed, ...others] = await list();
  assert.equal(others, ended);
  assert.equal((await get('eval_1')).results, results);
  assert.equal([killed.evaluation_id, killed.state], [running, 'failed']);
  assert.match(killed.error, 'The service was killed while it ran');
  assert.equal([last.evaluation_id, last.rows], [waiting, 3]);
  go(waiting, 'an answer');
  await until(async () => (await get(waiting)).state === 'completed', 'it is completed', 300_000);
  assert.is((await ask('DELETE', `/api/evaluations/${waiting}`)).status, 200);
  assert.is((await start()).evaluation_id, `eval_${Number(waiting.slice(5)) + 1}`, 'no number is used twice');

  // One whose file is missing, as of an earlier version, gets one at the next start.
  const file = join(dataDir, 'evaluations', 'eval_1.json');
  const content = readFileSync(file, 'utf8');
  await service.end();
  rmSync(file);
  service = await startService({ dataDir, env });
  assert.is(readFileSync(file, 'utf8'), content);
  assert.is((await service.call('GET', '/api/info')).body.database_notice, undefined);
});

test.run();
