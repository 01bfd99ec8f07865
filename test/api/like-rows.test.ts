/** Rows of kept answers that are like each other, or like those of a validation dataset: counted, shown and left out. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService, type TestService, temporaryFolder } from '../service.ts';
import { saying, storeModel } from '../stored-model.ts';

let service: TestService;
const ids: string[] = [];
test.before(async () => {
  const dataDir = temporaryFolder();
  const chatTemplate = '{% for message in messages %}{{ message.content }}{% endfor %}#';
  storeModel(dataDir, 'support', undefined, { context: 512, layers: 1, chatTemplate, next: saying('yes') });
  service = await startService({ dataDir });
  for (const content of [
    'Where is my parcel from last week?',
    'where is my parcel, from last week',
    'Where is my parcel from last week?',
    'Please send me the invoice of May.',
    'How do I change my password here?',
  ]) {
    const messages = [
      { role: 'system', content: 'Answer in a word, and never tell what other customers have asked before.' },
      { role: 'user', content },
    ];
    const asked = { model: 'support', messages, max_tokens: 8, temperature: 0, store: true };
    ids.push((await service.call('POST', '/v1/chat/completions', asked)).body.id);
  }
  const held = [
    'PLEASE send me the invoice of May',
    ...Array.from({ length: 11 }, (_, index) => `Other ${index}`),
  ];
  const rows = held.map((input) => JSON.stringify({ input, output: 'no' }));
  await service.upload('held.jsonl', `${rows.join('\n')}\n`);
});
test.after(endAll);

const count = (body: object) => service.call('POST', '/api/traffic/rows', { kind: 'sft', ...body });

test('near duplicates are counted and kept, with examples, or left out', async () => {
  const { status, body } = await count({});
  assert.equal([status, body.rows, body.skipped.duplicate, body.skipped.near_duplicate], [200, 4, 1, 0]);
  assert.equal([body.near_duplicates.rows, body.overlap, body.capped], [1, null, false]);
  const [example] = body.near_duplicates.examples;
  assert.equal(
    [example.completion_id, example.text, example.like, example.similarity],
    [ids[1], 'where is my parcel, from last week\nyes', 'Where is my parcel from last week?\nyes', 1],
  );
  const left = (await count({ near_duplicates: 'leave_out' })).body;
  assert.equal([left.rows, left.skipped.near_duplicate, left.near_duplicates.rows], [3, 1, 1]);
});

test('rows that ask what a validation dataset does are left out, unless they are to be kept', async () => {
  const { body } = await count({ validation_dataset: 'held.jsonl' });
  assert.equal([body.rows, body.skipped.overlap], [3, 1]);
  const { dataset, rows, compared_rows: compared, complete, examples } = body.overlap;
  assert.equal([dataset, rows, compared, complete], ['held.jsonl', 1, 12, true]);
  assert.equal(
    [examples[0].completion_id, examples[0].text, examples[0].like],
    [ids[3], 'Please send me the invoice of May.', 'PLEASE send me the invoice of May'],
  );
  const kept = (await count({ validation_dataset: 'held.jsonl', overlap: 'keep' })).body;
  assert.equal([kept.rows, kept.skipped.overlap, kept.overlap.rows], [4, 0, 1]);
});

test('rows are made of what was counted, and know where they are from', async () => {
  const wanted = { kind: 'sft', validation_dataset: 'held.jsonl', near_duplicates: 'leave_out' };
  const counted = (await count(wanted)).body;
  const { status, body } = await service.call('POST', '/api/datasets/new.jsonl/answers', wanted);
  assert.equal([status, body.added, body.skipped], [200, 2, counted.skipped]);
  assert.equal([body.near_duplicates, body.overlap], [counted.near_duplicates, counted.overlap]);
  const { rows } = (await service.call('GET', '/api/datasets/new.jsonl?rows=8')).body;
  assert.equal(
    rows.map((row: { completion_id: string }) => row.completion_id),
    [ids[0], ids[4]],
  );
  const nothing = { ...wanted, ids: [ids[3]] };
  const refused = await service.call('POST', '/api/datasets/none.jsonl/answers', nothing);
  assert.is(refused.status, 400);
  assert.match(JSON.stringify(refused.body), '1 with a question of the validation dataset');
});

test('bad input is refused, and a dataset that is not there is named', async () => {
  for (const [body, status] of [
    [{ validation_dataset: 'none.jsonl' }, 404],
    [{ validation_dataset: '../held.jsonl' }, 404],
    [{ validation_dataset: '' }, 400],
    [{ validation_dataset: ['held.jsonl'] }, 400],
    [{ near_duplicates: 'maybe' }, 400],
    [{ overlap: true }, 400],
  ] as const) {
    assert.is((await count(body)).status, status, JSON.stringify(body));
    const made = await service.call('POST', '/api/datasets/bad.jsonl/answers', { kind: 'sft', ...body });
    assert.is(made.status, status, JSON.stringify(body));
  }
  assert.is((await service.call('GET', '/api/datasets/bad.jsonl')).status, 404);
});

test.run();
