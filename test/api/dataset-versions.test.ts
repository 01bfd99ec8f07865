/** The versions of a dataset that runs and evaluations keep: listed, read, downloaded, restored, and gone with what used them. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { letGo, littleInstallation } from '../jobs/little-installation.ts';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  tinyModel,
  until,
} from '../service.ts';
import { type Description, readDescription } from './description.ts';

let service: TestService;
let description: Description;
const base = '/api/datasets/support.jsonl';

test.before(async () => {
  service = await startService({ env: littleInstallation('polite') });
  description = await readDescription(service);
  await service.upload('support.jsonl', supportRows());
});
test.after(endAll);

async function ask(method: string, path: string, body?: unknown) {
  const answer = await service.call(method, path, body);
  description.check(method, path, answer);
  return answer;
}
const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');
const rows = supportRows().trim().split('\n');
const first = digestOf(supportRows());
const versionNow = async () => (await ask('GET', `${base}?rows=0`)).body.version;
async function edit(edits: object) {
  const { status, body } = await ask('PATCH', `${base}/rows`, { version: await versionNow(), ...edits });
  assert.is(status, 200, JSON.stringify(body));
}
const versions = async (path = base): Promise<Json[]> => (await ask('GET', `${path}/versions`)).body.versions;
/** What is listed: digest, rows, rows added and removed, and what uses it. */
const listed = async (path = base) =>
  (await versions(path)).map((one) => [
    ...[one.sha256, one.num_examples, one.added_rows, one.removed_rows],
    one.used_by.map(({ id }: Json) => id).join(),
  ]);
const stored = () => readFileSync(join(service.dataDir, 'datasets', 'support.jsonl'), 'utf8');
const ended = (id: string, state: string) =>
  until(async () => (await ask('GET', `/api/jobs/${id}`)).body.state === state, `${id} is ${state}`, 60_000);

test('rows that a running training reads are edited, and it keeps them as a version', async () => {
  assert.equal(await listed(), [[first, rows.length, null, null, '']], 'what it has now');
  await service.upload('held-out.jsonl', rows.slice(-12).join('\n'));
  const request = quickRequest({ validation_dataset: 'held-out.jsonl' });
  assert.is((await ask('POST', '/api/start_training', request)).status, 200);
  await edit({ changes: [{ line: 1, text: '{"input":"a","output":"b"}' }], deletions: [2, 3] });
  const now = digestOf(stored());
  assert.equal(await listed(), [
    [now, rows.length - 2, 1, 3, ''],
    [first, rows.length, null, null, 'train_1'],
  ]);
  assert.is((await ask('GET', '/api/jobs/train_1/data')).body.sha256, first);
  const [, old] = await versions();
  assert.equal([old.current, old.used_by[0].kind], [false, 'run']);

  const page = (await ask('GET', `${base}/versions/${first}?rows=2&from=1`)).body;
  assert.equal(
    page.rows,
    rows.slice(1, 3).map((row) => JSON.parse(row)),
  );
  assert.equal([page.lines, page.next_from, page.num_examples], [[2, 3], 3, rows.length]);
  const word = JSON.parse(rows[1] as string).input as string;
  const found = (await ask('GET', `${base}/versions/${first}?search=${encodeURIComponent(word)}`)).body;
  assert.equal(found.rows[0], JSON.parse(rows[1] as string));
  const file = await service.call('GET', `${base}/versions/${first}/file`);
  assert.match(file.headers.get('content-disposition') ?? '', `support-${first.slice(0, 8)}.jsonl`);
  assert.is(file.body, supportRows());

  // Edits that nothing used are not kept.
  await edit({ deletions: [2] });
  assert.equal(await listed(), [
    [digestOf(stored()), rows.length - 3, 1, 4, ''],
    [first, rows.length, null, null, 'train_1'],
  ]);
  assert.is((await ask('GET', `${base}/versions/${now}`)).status, 404);
  await service.upload('held-out.jsonl', rows.slice(-13).join('\n'));
  const [, heldOut] = await listed('/api/datasets/held-out.jsonl');
  assert.equal(heldOut, [digestOf(rows.slice(-12).join('\n')), 12, null, null, 'train_1']);
  assert.is((await ask('GET', `${base}/versions/..%2F..%2Fspec.json`)).status, 404);
});

test('a version is restored unless another tab has edited the rows meanwhile, and taken back', async () => {
  const opened = await versionNow();
  await edit({ insertions: [{ line: 1, text: '{"input":"of the other tab","output":"kept"}' }] });
  const edited = stored();
  const restore = (version: string) => ask('POST', `${base}/versions/${first}/restore`, { version });
  assert.is((await restore(opened)).status, 409);
  assert.is(stored(), edited);
  const { status, body } = await restore(await versionNow());
  assert.equal([status, body.num_examples, stored()], [200, rows.length, supportRows()]);
  assert.equal(await listed(), [[first, rows.length, null, null, 'train_1']], 'equal rows are one version');
  assert.is((await ask('DELETE', `${base}/cleaning`)).status, 200);
  assert.is(stored(), edited);
  assert.is((await restore(await versionNow())).status, 200);
});

test('a version goes with the last thing that used it; a new name keeps it, and another dataset of the old name has none', async () => {
  const evaluation = { dataset: 'support.jsonl', base_model: tinyModel('llama'), rows: 3 };
  await ask('POST', '/api/stop_training');
  await ended('train_1', 'stopped');
  assert.is((await ask('POST', '/api/evaluations', evaluation)).status, 200);
  await edit({ deletions: [1] });
  const evaluationFolder = join(service.dataDir, 'evaluations', 'eval_1');
  const isBegun = async () => (await ask('GET', '/api/evaluations/eval_1')).body.progress === 0.5;
  await until(isBegun, 'the evaluation has begun', 60_000);
  letGo(evaluationFolder, 'an answer');
  const isDone = async () => (await ask('GET', '/api/evaluations/eval_1')).body.state === 'completed';
  await until(isDone, 'the evaluation is completed', 60_000);
  const users = async (path = base) => (await listed(path)).slice(1).map((one) => one.at(-1));
  assert.equal(await users(), ['train_1,eval_1']);

  const moved = '/api/datasets/renamed.jsonl';
  await ask('PATCH', base, { filename: 'renamed.jsonl' });
  assert.equal(await users(moved), ['train_1,eval_1']);
  await service.upload('support.jsonl', rows.slice(0, 12).join('\n'));
  assert.equal(await users(moved), [], 'they are those of the dataset that has the name now');
  await ask('DELETE', `${base}?permanently=true`);

  const binned = (await ask('DELETE', '/api/jobs/train_1')).body.bin_id;
  assert.equal(await users(moved), ['eval_1']);
  await ask('POST', `/api/bin/${binned}/restore`);
  assert.equal(await users(moved), ['train_1,eval_1']);
  await ask('DELETE', '/api/evaluations/eval_1?permanently=true');
  assert.equal(await users(moved), ['train_1']);
  await ask('DELETE', '/api/jobs/train_1?permanently=true');
  assert.equal(await users(moved), []);
  assert.is((await ask('GET', `${moved}/versions/${first}`)).status, 404);
  assert.is((await ask('GET', `${moved}/versions/${first}/file`)).status, 404);
});

test.run();
