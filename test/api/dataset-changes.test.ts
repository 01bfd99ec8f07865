/** What changes a stored dataset: rows that are added, edited and deleted, a new name, and a copy. */
import { once } from 'node:events';
import { linkSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Json, supportRows, until } from '../client.ts';
import { endAll, type InsideService, openInside } from '../inside-service.ts';

let service: InsideService;

test.before(async () => {
  service = await openInside();
  await service.upload('support.jsonl', supportRows());
});
test.after(endAll);

const lines = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).join('\n');

test('rows are added to a dataset and make a new one; what does not fit changes nothing', async () => {
  const add = (name: string, ...rows: unknown[]) =>
    service.call('POST', `/api/datasets/${encodeURIComponent(name)}/rows`, { rows });
  const made = await add('mended.jsonl', { input: 'a', output: 'b' });
  assert.equal([made.status, made.body.num_examples, made.body.validation.valid], [200, 1, false]);
  // All that are added at once are kept.
  await Promise.all(
    Array.from({ length: 9 }, (_, index) => add('mended.jsonl', { input: `${index}`, output: 'c' })),
  );
  const { body } = await service.call('GET', '/api/datasets/mended.jsonl');
  assert.equal([body.num_examples, body.validation.valid], [10, true], JSON.stringify(body.validation));
  await service.upload('open.jsonl', lines(Array(10).fill({ input: 'a', output: 'b' })));
  assert.is(
    (await add('open.jsonl', { input: 'Grüße', output: '🙂' })).body.num_examples,
    11,
    'without a last line break',
  );
  for (const [name, rows] of [
    ['mended.jsonl', [{ input: 'a' }]],
    ['mended.jsonl', [{ input: 'a', output: 'b' }, { messages: [] }]],
    ['new.jsonl', [{ input: 'a', output: 1 }]],
    ['new.csv', [{ input: 'a', output: 'b' }]],
    ['mended.jsonl', []],
    ['mended.jsonl', ['text']],
  ] as const)
    assert.is((await add(name, ...rows)).status, 400, JSON.stringify(rows));
  assert.is((await service.call('GET', '/api/datasets/new.jsonl')).status, 404);
  assert.equal((await service.call('GET', '/api/datasets/mended.jsonl')).body, body);
  for (const name of ['mended.jsonl', 'open.jsonl']) await service.call('DELETE', `/api/datasets/${name}`);
});

test('rows are edited, deleted and put back by their lines; another version is refused, and a run keeps its own', async () => {
  const path = join(service.dataDir, 'datasets', 'edited.jsonl');
  const row = (index: number) => `{"input":"${index}","output":"b","id":12345678901234567890}`;
  const before = [...Array.from({ length: 12 }, (_, index) => row(index)), '', '{"input":', row(13)];
  await service.upload('edited.jsonl', before.join('\n'));
  const get = async () => (await service.call('GET', '/api/datasets/edited.jsonl')).body;
  const edit = (body: unknown) => service.call('PATCH', '/api/datasets/edited.jsonl/rows', body);
  const written = () => readFileSync(path, 'utf8');
  const { version, lines: numbers } = await get();
  assert.equal(numbers.slice(-2), [14, 15]);
  const whole = (await service.call('GET', '/api/datasets/edited.jsonl/rows/15')).body;
  assert.equal(whole, { line: 15, text: row(13), version });
  assert.is((await service.call('GET', '/api/datasets/edited.jsonl/rows/16')).status, 404);
  assert.is((await service.call('GET', '/api/datasets/edited.jsonl/rows/0')).status, 404);

  // A run has a link to the file.
  const frozen = join(service.dataDir, 'frozen.jsonl');
  linkSync(path, frozen);
  for (const [body, word] of [
    [{ deletions: [1] }, 'version'],
    [{ version }, 'at least one'],
    [{ version, deletions: [0] }, 'at least 1'],
    [{ version, deletions: [16] }, 'no line 16'],
    [{ version, deletions: [13] }, 'Line 13 is blank'],
    [{ version, deletions: [2, 2] }, 'Line 2 is edited twice'],
    [{ version, deletions: [1], changes: [{ line: 1, text: row(1) }] }, 'Line 1 is edited twice'],
    [{ version, changes: [{ line: 3, text: '{"input":"a"}' }] }, 'Line 3: missing required field "output"'],
    [{ version, changes: [{ line: 3, text: '{"input":' }] }, 'Line 3: invalid JSON'],
    [{ version, changes: [{ line: 3, text: ' ' }] }, 'Line 3: the row is blank'],
    [{ version, changes: [{ line: 3, text: '{\n}' }] }, 'on one line'],
    [{ version, changes: [{ line: 3, row: {} }] }, 'text'],
    [{ version, insertions: [{ line: 1, text: '' }] }, 'blank'],
    [{ version, deletions: Array(1001).fill(1) }, 'at most 1000'],
  ] as const) {
    const { status, body: refusal } = await edit(body);
    assert.is(status, 400, JSON.stringify(body));
    assert.match(refusal.detail, word);
  }
  assert.equal([written(), (await get()).version], [before.join('\n'), version], 'nothing has changed');

  const text = '{"input": "new\u00e9", "output": "b", "id": 12345678901234567890}';
  // Two tabs edit one row.
  const both = await Promise.all(
    [text, row(99)].map((one) =>
      edit({
        version,
        changes: [{ line: 2, text: one }],
        deletions: [1, 14, 15],
        insertions: [{ line: 99, text: row(7) }],
      }),
    ),
  );
  assert.equal(
    both.map(({ status }) => status),
    [200, 409],
    JSON.stringify(both.map(({ body }) => body)),
  );
  assert.match(both[1]?.body.detail, /changed since you opened it\. Load its rows again/);
  assert.equal(written(), `${[text, ...before.slice(2, 13), row(7)].join('\n')}\n`);
  const after = await get();
  assert.equal([after.num_examples, after.validation.valid], [12, true]);
  assert.equal([both[0]?.body.version, both[0]?.body.num_examples], [after.version, 12]);
  assert.is.not(after.version, version);
  assert.is(readFileSync(frozen, 'utf8'), before.join('\n'), 'a run reads what it was started with');
  // What was deleted is put back as it was, faults included.
  const back = {
    version: after.version,
    insertions: [
      { line: 1, text: row(0) },
      { line: 13, text: '{"input":' },
    ],
  };
  assert.is((await edit(back)).body.validation.total_errors, 1);
  assert.equal(written().split('\n').slice(0, 2), [row(0), text]);
  assert.is((await edit(back)).status, 409);
  // An upload that replaces it meanwhile is not lost.
  const last = (await get()).version;
  await service.upload('edited.jsonl', supportRows());
  assert.is((await edit({ version: last, deletions: [1] })).status, 409);
  assert.is(written(), supportRows());
  assert.is(
    (await service.call('PATCH', '/api/datasets/none.jsonl/rows', { version, deletions: [1] })).status,
    404,
  );
  await service.call('DELETE', '/api/datasets/edited.jsonl');
});

test('what an analysis finds is put right as one new version, which can be taken back; unknown versions change nothing', async () => {
  const path = join(service.dataDir, 'datasets', 'cleaned.jsonl');
  const row = (index: number) => `{"input":"${index}","output":"b","id":12345678901234567890}`;
  const padded = (text: string) =>
    `{"id": 12345678901234567890, "input":"${text}", "more": " x ", "output":"b\\t"}`;
  const before = [
    ...Array.from({ length: 10 }, (_, index) => row(index)),
    ...['', `{"id":1,"output":"b","input":"3"}`, '{"input":"empty","output":" "}'],
    ...[padded('\\u0020\\n two  \\\\n\\u0020 '), row(4)],
  ];
  const text = `${before.join('\n')}\n`;
  await service.upload('cleaned.jsonl', text);
  const url = '/api/datasets/cleaned.jsonl';
  const version = async () => (await service.call('GET', `${url}?rows=0`)).body.version;
  const clean = async (fix: string) =>
    service.call('POST', `${url}/cleaning`, { version: await version(), fix });
  const takeBack = () => service.call('DELETE', `${url}/cleaning`);
  const written = () => readFileSync(path, 'utf8');
  const { body: found } = await service.call('POST', `${url}/analysis`, {});
  assert.equal(
    [found.exact_duplicates.rows, found.empty_answers.lines, found.padded_texts],
    [2, [13], { rows: 1, lines: [14] }],
  );
  const some = await service.call('GET', `${url}?lines=15,14,99`);
  assert.equal([some.body.lines, some.body.total], [[14, 15], 2]);
  for (const query of ['lines=', 'lines=1,,2', 'lines=a'])
    assert.is((await service.call('GET', `${url}?${query}`)).status, 400);

  const first = await version();
  for (const [fix, removed, changed, after] of [
    ['exact_duplicates', 2, 0, before.filter((_, index) => index !== 11 && index !== 14)],
    ['empty_answers', 1, 0, before.filter((_, index) => index !== 12)],
    ['padded_texts', 0, 1, before.with(13, padded('two  \\\\n').replace('b\\t', 'b'))],
  ] as const) {
    const { status, body } = await clean(fix);
    assert.equal(
      [status, body.removed_rows, body.changed_rows],
      [200, removed, changed],
      JSON.stringify(body),
    );
    assert.equal(written().split('\n'), [...after, '']);
    assert.is.not(body.version, first);
    const back = await takeBack();
    assert.equal([back.status, back.body.version, written()], [200, first, text]);
    assert.is((await takeBack()).status, 409, 'once');
  }
  const stale = { version: 'other', fix: 'empty_answers' };
  assert.is((await service.call('POST', `${url}/cleaning`, stale)).status, 409);
  assert.is((await service.call('POST', `${url}/cleaning`, { ...stale, fix: 'typos' })).status, 400);
  await clean('exact_duplicates');
  // What is deleted leaves nothing behind.
  await service.call('DELETE', url);
  assert.equal(
    readdirSync(join(service.dataDir, 'datasets')).filter((name) => name.includes('former')),
    [],
  );
  await service.upload('cleaned.jsonl', lines(Array(12).fill({ input: 'a', output: 'b' })));
  const { status, body: refusal } = await clean('exact_duplicates');
  assert.is(status, 400);
  assert.match(refusal.detail, 'Too few rows would be left');
  await service.call('DELETE', url);
});

test('a row keeps its flag while other rows are edited, in a copy, under another name and after the bin', async () => {
  const row = (index: number) => `{"input":"${index}","output":"b"}`;
  const text = Array.from({ length: 30 }, (_, index) => row(index + 1)).join('\n');
  await service.upload('flagged.jsonl', `${text}\n${row(4)}\n`);
  let url = '/api/datasets/flagged.jsonl';
  const get = async (query = '') => (await service.call('GET', `${url}?rows=100${query}`)).body;
  const lines = async (query = '&flagged=true') => (await get(query)).lines;
  const change = async (body: object, path = 'flags') =>
    service.call('PATCH', `${url}/${path}`, { version: (await get()).version, ...body });
  const { version } = await get();
  const flagged = await change({ flagged: [2, 4, 6], unflagged: [7] });
  assert.equal([flagged.status, flagged.body.version], [200, version]);
  const page = await get();
  // Equal rows are flagged together.
  assert.equal([page.flagged_rows, page.total], [[1, 3, 5, 30], 31]);
  assert.equal(await lines(), [2, 4, 6, 31]);
  await change({ unflagged: [6] });
  assert.equal(await lines('&flagged=true&search=2'), [2]);
  for (const [body, word] of [
    [{ flagged: [32] }, 'Line 32 is no row'],
    [{ flagged: [] }, 'at least one'],
    [{ flagged: [0] }, 'at least 1'],
  ] as const) {
    const { status, body: refusal } = await change(body);
    assert.is(status, 400);
    assert.match(refusal.detail, word);
  }
  assert.is((await service.call('PATCH', `${url}/flags`, { version: 'old', flagged: [1] })).status, 409);
  assert.equal(await lines(), [2, 4, 31], 'what is refused flags nothing');

  // Another row is deleted, and a flagged one is edited.
  await change({ deletions: [1], changes: [{ line: 4, text: row(44) }] }, 'rows');
  assert.equal(await lines(), [1, 30]);
  await service.call('PATCH', url, { filename: 'renamed.jsonl' });
  url = '/api/datasets/renamed.jsonl';
  await service.call('POST', `${url}/copies`, { filename: 'copied.jsonl' });
  const { bin_id: binId } = (await service.call('DELETE', url)).body;
  await service.upload('renamed.jsonl', text);
  assert.equal(await lines(), [], 'another dataset of this name');
  await service.call('DELETE', `${url}?permanently=true`);
  await service.call('POST', `/api/bin/${binId}/restore`);
  assert.equal(await lines(), [1, 30]);
  await service.call('DELETE', url);
  url = '/api/datasets/copied.jsonl';
  assert.equal(await lines(), [1, 30]);

  const clean = async (fix: string) =>
    (await service.call('POST', `${url}/cleaning`, { version: (await get()).version, fix })).body;
  assert.match((await clean('unflagged_rows')).detail, 'Too few rows would be left (2)');
  assert.is((await clean('flagged_rows')).removed_rows, 2);
  assert.equal([await lines(), (await get()).total], [[], 28]);
  await service.call('DELETE', `${url}/cleaning`);
  assert.equal(await lines(), [1, 30]);
  await service.call('DELETE', url);
});

test('a dataset is renamed with its note, and found by its former name and its file ID; a name that is taken is refused', async () => {
  const folder = join(service.dataDir, 'datasets');
  const note = {
    source: { kind: 'upload', name: 'old.csv', size_bytes: 9 },
    ...{ container: 'csv', compression: null, shape: null, mapping: null },
    ...{ rows_read: 400, rows_written: 400, rows_skipped: 0 },
    ...{ imported_at: '2026-11-21T11:00:00.000Z', version: '3.0.0' },
  };
  await service.upload('old.jsonl', supportRows());
  await service.upload('other.jsonl', supportRows());
  writeFileSync(join(folder, 'old.jsonl.import.json'), JSON.stringify(note));
  const fileId = async () =>
    (await service.call('GET', '/v1/files')).body.data.find(({ filename }: Json) =>
      ['old.jsonl', 'new.jsonl'].includes(filename),
    ).id;
  const id = await fileId();
  const rename = (name: string, filename: unknown) =>
    service.call('PATCH', `/api/datasets/${name}`, { filename });
  writeFileSync(join(folder, 'unknown.jsonl'), 'a file that was put there');
  for (const [name, filename, status] of [
    ['old.jsonl', 'other.jsonl', 409],
    ['old.jsonl', 'unknown.jsonl', 409],
    ['old.jsonl', 'new.csv', 400],
    ['old.jsonl', '', 400],
    ['old.jsonl', 7, 400],
    ['none.jsonl', 'new.jsonl', 404],
    ['old.jsonl', 'old.jsonl', 200],
  ] as const) {
    const answer = await rename(name, filename);
    assert.is(answer.status, status, JSON.stringify([filename, answer.body]));
  }
  // An upload that is under way has a name, too.
  const upload = request(`${service.url}/api/upload_dataset`, {
    method: 'POST',
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
  });
  const uploaded = once(upload, 'response');
  upload.write('--b\r\ncontent-disposition: form-data; name="file"; filename="coming.jsonl"\r\n\r\n');
  upload.write(supportRows().repeat(200));
  await until(() => readdirSync(folder).some((name) => name.endsWith('.partial')), 'the upload has begun');
  assert.is((await rename('other.jsonl', 'coming.jsonl')).status, 409);
  upload.end('\r\n--b--\r\n');
  assert.is((await uploaded)[0].statusCode, 200);
  const renamed = await rename('old.jsonl', '../new.jsonl');
  assert.equal(
    [renamed.status, renamed.body.filename, renamed.body.former_names],
    [200, 'new.jsonl', ['old.jsonl']],
  );
  const { body: found } = await service.call('GET', '/api/datasets/old.jsonl?rows=1');
  assert.equal([found.filename, found.num_examples, found.import], ['new.jsonl', 400, note]);
  assert.equal(
    readdirSync(folder)
      .filter((name) => /^(old|new)/.test(name))
      .sort(),
    ['new.jsonl', 'new.jsonl.import.json'],
  );
  assert.is(await fileId(), id);
  assert.is((await service.call('GET', `/v1/files/${id}/content`)).status, 200);
  const estimate = { task: 'text-generation', model_name: 'sshleifer/tiny-gpt2', dataset: 'old.jsonl' };
  assert.is.not((await service.call('POST', '/api/estimate', estimate)).status, 404);
  // What changes it goes by the name that it has.
  const gone = await service.call('DELETE', '/api/datasets/old.jsonl');
  assert.equal([gone.status, /renamed to new\.jsonl/.test(gone.body.detail)], [404, true], gone.body.detail);

  const copy = (body?: unknown) => service.call('POST', '/api/datasets/new.jsonl/copies', body);
  const copies = await Promise.all([copy(), copy({}), copy({ filename: 'mine.jsonl' })]);
  assert.equal(
    copies.map(({ status, body }) => [status, body.filename, body.num_examples]),
    [
      [200, 'new-copy.jsonl', 400],
      [200, 'new-copy-2.jsonl', 400],
      [200, 'mine.jsonl', 400],
    ],
  );
  assert.equal((await service.call('GET', '/api/datasets/new-copy.jsonl?rows=0')).body.import, note);
  assert.is((await copy({ filename: 'other.jsonl' })).status, 409);
  assert.is((await copy({ filename: 'other' })).status, 400);
  assert.is((await service.call('POST', '/api/datasets/none.jsonl/copies')).status, 404);
  const file = await service.call('GET', '/api/datasets/mine.jsonl/file');
  assert.is(file.body, supportRows());
  assert.match(file.headers.get('content-disposition') ?? '', 'mine.jsonl');
  assert.is((await service.call('GET', '/api/datasets/none.jsonl/file')).status, 404);
  rmSync(join(folder, 'unknown.jsonl'));
  for (const { filename } of (await service.call('GET', '/api/datasets')).body.datasets)
    if (filename !== 'support.jsonl') await service.call('DELETE', `/api/datasets/${filename}`);
});

test.run();
