/** `POST /api/datasets/{name}/analysis`: what a dataset repeats, and its lengths as a training sees them. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type Answer,
  endAll,
  type Json,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  tinyModel,
  until,
} from '../service.ts';
import { readDescription } from './description.ts';

let service: TestService;
let description: Awaited<ReturnType<typeof readDescription>>;
const model = tinyModel('llama');

test.before(async () => {
  service = await startService();
  description = await readDescription(service);
});
test.after(endAll);

const lines = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).join('\n');
const rows: Json[] = supportRows()
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line));

async function analyse(name: string, body: unknown = {}): Promise<Answer> {
  const answer = await service.call('POST', `/api/datasets/${name}/analysis`, body);
  description.check('POST', `/api/datasets/${name}/analysis`, answer);
  return answer;
}

test('duplicates, empty answers and overlap', async () => {
  const own = [...rows.slice(0, 40), { input: 'Where is it? Where?', output: ' ' }, rows[7]];
  await service.upload('own.jsonl', lines(own));
  await service.upload('other.jsonl', lines([...rows.slice(300, 320), { id: 1, ...rows[3] }, rows[3]]));
  const { status, body } = await analyse('own.jsonl', { validation_dataset: 'other.jsonl' });
  assert.is(status, 200, JSON.stringify(body));
  assert.equal([body.rows, body.shape, body.lengths], [42, 'input-output', null]);
  assert.is(body.exact_duplicates.rows, 1);
  assert.equal(body.exact_duplicates.groups[0].lines, [8, 42]);
  assert.match(body.exact_duplicates.groups[0].text, rows[7].input);
  assert.equal(body.empty_answers, { rows: 1, lines: [41] });
  assert.equal([body.overlap.dataset, body.overlap.exact], ['other.jsonl', 2]);
  assert.equal(body.overlap.examples[0], {
    lines: [4, 21],
    similarity: 1,
    texts: Array(2).fill(`${rows[3].input}\n${rows[3].output}`),
  });
});

async function findingsOf(name: string): Promise<number | null | undefined> {
  const answer = await service.call('GET', '/api/datasets');
  description.check('GET', '/api/datasets', answer);
  return answer.body.datasets.find(({ filename }: Json) => filename === name)?.findings;
}

test('a dataset is analysed when it is stored, and again when its rows are others', async () => {
  await service.upload(
    'stored.jsonl',
    lines([...rows.slice(0, 20), rows[3], { input: 'Why?', output: ' ' }]),
  );
  await until(async () => (await findingsOf('stored.jsonl')) === 2, 'the findings are counted');
  assert.equal((await analyse('stored.jsonl')).body.empty_answers, { rows: 1, lines: [22] });
  const { version } = (await service.call('GET', '/api/datasets/stored.jsonl')).body;
  const edits = { version, deletions: [22] };
  const edited = await service.call('PATCH', '/api/datasets/stored.jsonl/rows', edits);
  assert.is(edited.status, 200, JSON.stringify(edited.body));
  assert.equal((await analyse('stored.jsonl')).body.empty_answers, { rows: 0, lines: [] });
  await until(async () => (await findingsOf('stored.jsonl')) === 1, 'they are counted again');
  await service.call('PATCH', '/api/datasets/stored.jsonl', { filename: 'renamed.jsonl' });
  await until(async () => (await findingsOf('renamed.jsonl')) === 1, 'also under its new name');
  // What cannot be trained on is not analysed, and does not keep others waiting.
  await service.upload('stored.jsonl', lines([{ input: 7 }]));
  await service.upload('gone.jsonl', lines(rows));
  await service.call('DELETE', '/api/datasets/gone.jsonl');
  await service.upload('last.jsonl', lines([...rows.slice(0, 20), rows[3]]));
  await until(async () => (await findingsOf('last.jsonl')) === 1, 'the next one is analysed');
  assert.is(await findingsOf('stored.jsonl'), null);
});

test('what was found outlives the service, which does not look for it again', async () => {
  const own = [...rows.slice(0, 20), rows[3]];
  await service.upload('kept.jsonl', lines(own));
  await until(async () => (await findingsOf('kept.jsonl')) === 1, 'the findings are counted');
  const before = (await analyse('kept.jsonl')).body;
  const { dataDir } = service;
  await service.end();
  // Without the addon, nothing can be looked for.
  service = await startService({ dataDir, env: { HONE_NATIVE_BUILD: temporaryFolder() } });
  assert.is(await findingsOf('kept.jsonl'), 1);
  assert.equal((await analyse('kept.jsonl')).body, before);
  // Not what was found in other rows: a program may replace the file.
  writeFileSync(join(dataDir, 'datasets', 'kept.jsonl'), lines(own.slice(1)));
  assert.is((await analyse('kept.jsonl')).status, 503);
  await service.end();
  service = await startService({ dataDir });
  await until(
    async () => (await findingsOf('kept.jsonl')) === 1,
    'what is not analysed is at the next start',
  );
});

test('lengths are those that the preview shows', async () => {
  const own = rows.slice(0, 30).map(({ input, output }) => ({
    messages: [
      { role: 'user', content: input },
      { role: 'assistant', content: output },
    ],
  }));
  await service.upload('chats.jsonl', lines(own));
  const request = { model_name: model, max_seq_length: 40 };
  const { status, body } = await analyse('chats.jsonl', request);
  assert.is(status, 200, JSON.stringify(body));
  assert.is(body.shape, 'messages');
  const shown = await service.call('POST', '/api/datasets/chats.jsonl/preview', {
    ...request,
    task: 'text-generation',
    rows: 30,
  });
  const totals: number[] = shown.body.rows.map(({ total_tokens }: Json) => total_tokens);
  const sorted = [...totals].sort((a, b) => a - b);
  const { lengths } = body;
  assert.equal([lengths.model, lengths.max_seq_length, lengths.sampled_rows], [model, 40, 30]);
  assert.equal([lengths.median, lengths.longest], [sorted[14], sorted[29]]);
  assert.is(lengths.truncated_rows, totals.filter((total) => total > 40).length);
  for (const { from, to, count } of lengths.bins)
    assert.is(count, totals.filter((total) => total >= from && total <= to).length);
  assert.is(
    lengths.bins.reduce((sum: number, { count }: Json) => sum + count, 0),
    30,
  );
  const learned = shown.body.rows.reduce((sum: number, row: Json) => sum + row.labelled_tokens, 0);
  // A row of which nothing is learned is not trained.
  const trained = shown.body.rows.reduce(
    (sum: number, row: Json) => sum + (row.labelled_tokens > 0 ? Math.min(row.total_tokens, 40) : 0),
    0,
  );
  assert.ok(Math.abs(lengths.learned_share - learned / trained) < 1e-9);
});

test('what cannot be analysed is told', async () => {
  await service.upload('own.jsonl', lines(rows.slice(0, 40)));
  await service.upload('faulty.jsonl', lines([...rows.slice(0, 20), { input: 7 }]));
  await service.upload('pairs.jsonl', lines(Array(10).fill({ prompt: 'a', chosen: 'b', rejected: 'c' })));
  for (const [name, body, status, word] of [
    ['nowhere.jsonl', {}, 404, 'nowhere.jsonl'],
    ['faulty.jsonl', {}, 400, 'Line 21'],
    ['own.jsonl', { model_name: '/nowhere' }, 400, 'does not exist'],
    ['own.jsonl', { model_name: 'no model' }, 400, 'owner/name'],
    ['own.jsonl', { max_seq_length: 3 }, 400, 'from 16'],
    ['own.jsonl', { validation_dataset: 'own.jsonl' }, 400, 'the dataset itself'],
    ['own.jsonl', { validation_dataset: 'pairs.jsonl' }, 400, 'input'],
    ['own.jsonl', { validation_dataset: 'nowhere.jsonl' }, 404, 'nowhere.jsonl'],
    ['own.jsonl', { model: model }, 400, 'model'],
    ['own.jsonl', '[', 400, 'JSON'],
  ] as const) {
    const answer = await analyse(name, body);
    assert.is(answer.status, status, JSON.stringify([body, answer.body]));
    assert.match(answer.body.detail, word);
  }
  const path = join(service.dataDir, 'datasets', 'own.jsonl');
  writeFileSync(path, lines([...rows.slice(0, 40), 'damaged']));
  assert.is((await analyse('own.jsonl')).status, 400);
  rmSync(path);
  assert.is((await analyse('own.jsonl')).status, 404);
});

test('two at once, and none for a client that has left', async () => {
  await service.upload('own.jsonl', lines(rows));
  const control = new AbortController();
  const leaving = [1, 2].map(() =>
    fetch(`${service.url}/api/datasets/own.jsonl/analysis`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model_name: model }),
      signal: control.signal,
    }).then(
      () => 'answered',
      () => 'left',
    ),
  );
  await service.upload('other.jsonl', lines(rows.slice(0, 20)));
  const third = async () => (await analyse('own.jsonl', { validation_dataset: 'other.jsonl' })).status;
  await until(async () => (await third()) === 503, 'a third one is refused');
  // What was found when it was stored needs no place.
  await until(async () => (await findingsOf('own.jsonl')) !== null, 'it was analysed when it was stored');
  assert.is((await analyse('own.jsonl')).status, 200);
  control.abort();
  assert.equal(await Promise.all(leaving), ['left', 'left']);
  await until(async () => (await third()) === 200, 'their places are free');
});

test('without the native addon it is unavailable, and the answer tells how to build it', async () => {
  const bare = await startService({ env: { HONE_NATIVE_BUILD: temporaryFolder() } });
  await bare.upload('own.jsonl', lines(rows.slice(0, 40)));
  const answer = await bare.call('POST', '/api/datasets/own.jsonl/analysis', {});
  description.check('POST', '/api/datasets/{name}/analysis', answer);
  assert.is(answer.status, 503, JSON.stringify(answer.body));
  assert.match(answer.body.detail, /without the native addon.*node setup\.mjs/);
  await bare.end();
});

test.run();
