import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Database } from '../../src/db/sqlite.ts';
import { type Json, supportRows, until } from '../client.ts';
import { temporaryFolder } from '../folders.ts';
import { endAll, type InsideService, openInside } from '../inside-service.ts';

let service: InsideService;

test.before(async () => {
  service = await openInside();
  await service.upload('support.jsonl', supportRows());
});
test.after(endAll);

const lines = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).join('\n');

test('a dataset is listed, read with its first rows, replaced and deleted', async () => {
  const { body: list } = await service.call('GET', '/api/datasets');
  assert.is(list.datasets[0].filename, 'support.jsonl');
  assert.is(list.datasets[0].num_examples, 400);
  assert.ok(Math.abs(Date.parse(list.datasets[0].uploaded_at) - Date.now()) < 600_000);
  const { body } = await service.call('GET', '/api/datasets/support.jsonl?rows=3');
  assert.equal(
    body.rows,
    supportRows()
      .split('\n')
      .slice(0, 3)
      .map((line) => JSON.parse(line)),
  );
  await service.upload('twice.jsonl', lines(Array(10).fill({ input: 'a', output: 'b' })));
  await service.upload('twice.jsonl', lines(Array(12).fill({ input: 'c', output: 'd' })));
  const { body: replaced } = await service.call('GET', '/api/datasets/twice.jsonl?rows=1');
  assert.is(replaced.num_examples, 12);
  assert.equal(replaced.rows, [{ input: 'c', output: 'd' }]);
  assert.is((await service.call('DELETE', '/api/datasets/twice.jsonl')).status, 200);
  assert.is((await service.call('GET', '/api/datasets/twice.jsonl')).status, 404);
  assert.is((await service.call('GET', '/api/datasets/..%2F..%2Fetc%2Fpasswd')).status, 404);
  assert.is((await service.call('GET', '/api/datasets/support.jsonl?rows=999')).status, 400);
  const { body: found } = await service.call(
    'GET',
    '/api/datasets/support.jsonl?search=INVOICE&rows=2&from=9',
  );
  assert.is(found.rows.length, 2);
  assert.ok(found.rows.every((row: Json) => /invoice/i.test(JSON.stringify(row))));
  assert.ok(found.lines[0] > 9 && found.next_from >= found.lines[1] && found.total === null);
  assert.is((await service.call('GET', '/api/datasets/support.jsonl?search=')).status, 400);
});

test('a dataset is split into two, of which both or none are stored', async () => {
  const split = (name: string, body: unknown) => service.call('POST', `/api/datasets/${name}/split`, body);
  const first = await split('support.jsonl', { fraction: 0.1 });
  assert.is(first.status, 200, JSON.stringify(first.body));
  const { training, validation } = first.body;
  assert.equal([training.filename, training.num_examples], ['support-train.jsonl', 360]);
  assert.equal([validation.filename, validation.num_examples], ['support-validation.jsonl', 40]);
  const read = (name: string) =>
    readFileSync(join(service.dataDir, 'datasets', name), 'utf8')
      .trimEnd()
      .split('\n');
  const rows = [...read('support-train.jsonl'), ...read('support-validation.jsonl')];
  assert.equal(rows.sort(), supportRows().trimEnd().split('\n').sort());
  const again = await split('support.jsonl', { rows: 40 });
  assert.is(again.body.validation.filename, 'support-validation-2.jsonl');
  assert.equal(read('support-validation-2.jsonl'), read('support-validation.jsonl'), 'the same seed');
  const { body: other } = await split('support.jsonl', { rows: 40, seed: 7 });
  assert.is.not(read(other.validation.filename).join(), read('support-validation.jsonl').join());

  await service.upload('fifteen.jsonl', lines(Array(15).fill({ input: 'a', output: 'b' })));
  await service.upload('faulty.jsonl', lines([...Array(30).fill({ input: 'a', output: 'b' }), { input: 7 }]));
  /** Without what an analysis finds meanwhile. */
  const stored = async () => {
    const { datasets } = (await service.call('GET', '/api/datasets')).body;
    return datasets.map((one: Json) => ({ ...one, findings: null }));
  };
  const before = await stored();
  for (const [name, body, word] of [
    ['support.jsonl', {}, /fraction.*or rows/],
    ['support.jsonl', { fraction: 0.5, rows: 50 }, /one of them/],
    ['support.jsonl', { fraction: 0 }, 'greater than 0'],
    ['support.jsonl', { fraction: 1 }, 'less than 1'],
    ['support.jsonl', { rows: 1.5 }, 'whole number'],
    ['support.jsonl', { rows: 9 }, 'Hold out 10 to 390 rows'],
    ['support.jsonl', { rows: 391 }, 'Hold out 10 to 390 rows'],
    ['support.jsonl', { fraction: 0.01 }, 'Hold out 10 to 390 rows'],
    ['fifteen.jsonl', { fraction: 0.5 }, 'at least 20'],
    ['faulty.jsonl', { fraction: 0.5 }, 'faults'],
    ['support.jsonl', { fraction: 0.1, seed: -1 }, 'seed'],
    ['support.jsonl', { fraction: 0.1, shuffle: true }, 'shuffle'],
  ] as const) {
    const { status, body: refusal } = await split(name, body);
    assert.is(status, 400, JSON.stringify([body, refusal]));
    assert.match(refusal.detail, word);
  }
  assert.is((await split('nowhere.jsonl', { fraction: 0.1 })).status, 404);
  assert.equal(await stored(), before);
  for (const { filename } of before)
    if (filename !== 'support.jsonl') await service.call('DELETE', `/api/datasets/${filename}`);
});

test('of a split that a crash interrupted, nothing is left', async () => {
  const dataDir = temporaryFolder();
  const folder = join(dataDir, 'datasets');
  mkdirSync(folder, { recursive: true });
  for (const name of ['kept.jsonl', 'kept-train.jsonl', '.upload-1.partial'])
    writeFileSync(join(folder, name), supportRows());
  writeFileSync(
    join(folder, '.upload-2.names'),
    JSON.stringify(['kept-train.jsonl', 'kept-validation.jsonl']),
  );
  writeFileSync(join(folder, '.upload-3.names'), '["kept');
  const again = await openInside({ dataDir });
  const { datasets: listed } = (await again.call('GET', '/api/datasets')).body;
  assert.equal(
    listed.map(({ filename }: Json) => filename),
    ['kept.jsonl'],
  );
  assert.equal(readdirSync(folder), ['kept.jsonl']);
  await again.end();
});

if (process.platform === 'linux') {
  test('the file is closed after its first rows were read', async () => {
    await service.upload('long.jsonl', '{"input":"a question","output":"an answer"}\n'.repeat(100_000));
    const openFiles = () => {
      const folder = '/proc/self/fd';
      const targets = readdirSync(folder).map((number) => {
        try {
          return readlinkSync(join(folder, number));
        } catch {
          return ''; // closed in the meantime
        }
      });
      return targets.filter((target) => target.endsWith('/long.jsonl'));
    };
    for (let round = 0; round < 5; round += 1) {
      assert.is((await service.call('GET', '/api/datasets/long.jsonl?rows=2')).body.rows.length, 2);
    }
    await until(() => openFiles().length === 0, 'the file is closed');
    await service.call('DELETE', '/api/datasets/long.jsonl');
  });
}

test('conversations and plain text are stored as they are, and faults are told by line', async () => {
  const user = { role: 'user', content: 'U' };
  const messages = [user, { role: 'assistant', content: 'A' }];
  const chats = await service.upload('chats.jsonl', lines(Array(12).fill({ messages })));
  assert.equal([chats.body.validation.valid, chats.body.num_examples], [true, 12]);
  const { validation, rows } = (await service.call('GET', '/api/datasets/chats.jsonl')).body;
  assert.is(validation.shape, 'messages');
  assert.equal(rows[0], { messages });
  const texts = await service.upload('texts.jsonl', lines(Array(12).fill({ text: 'Once.' })));
  assert.is(texts.body.validation.valid, true);
  const bad = await service.upload(
    'chats.jsonl',
    lines([...Array(12).fill({ messages }), { messages: [user] }]),
  );
  assert.equal(bad.body.validation.errors, [
    'Line 13: field "messages" has no message of the assistant to learn',
  ]);
});

test('after a crash between file and table, both agree again', async () => {
  const { dataDir } = service;
  await service.end();
  const dir = join(dataDir, 'datasets');
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'found.jsonl'), lines(Array(11).fill({ input: 'a', output: 'b' })));
  writeFileSync(join(dir, '.upload-left'), 'half');
  const db = new Database(join(dataDir, 'database', 'hone.sqlite'));
  const message = 'Line 1: the row is in OpenAI messages format; convert the dataset';
  const refused = { valid: false, shape: null, numExamples: 12, errors: [{ line: 1, field: null, message }] };
  db.prepare("UPDATE datasets SET validation = ? WHERE name = 'chats.jsonl'").run(JSON.stringify(refused));
  db.prepare(
    `INSERT INTO datasets (name, num_examples, size_bytes, uploaded_at, validation, former_names)
     VALUES ('ghost.jsonl', 1, 1, '2026-01-01T00:00:00.000Z', '{}', '[]')`,
  ).run();
  db.close();
  service = await openInside({ dataDir });
  const { datasets } = (await service.call('GET', '/api/datasets')).body;
  const names: string[] = datasets.map((dataset: Json) => dataset.filename);
  assert.ok(names.includes('found.jsonl'));
  assert.ok(names.includes('support.jsonl'));
  assert.not(names.includes('ghost.jsonl'));
  assert.not(existsSync(join(dir, '.upload-left')));
  const { validation } = (await service.call('GET', '/api/datasets/chats.jsonl')).body;
  assert.is(validation.shape, 'messages', 'an older version did not know conversations');
});

test('an upload in the very first moment is kept, however much a crash has left behind', async () => {
  const dataDir = temporaryFolder();
  const dir = join(dataDir, 'datasets');
  mkdirSync(dir);
  for (let place = 0; place < 3000; place += 1) writeFileSync(join(dir, `.upload-${place}.partial`), '');
  const early = await openInside({ dataDir });
  const uploads = ['a.jsonl', 'b.jsonl', 'c.jsonl'].map((name) => early.upload(name, supportRows()));
  assert.equal(
    (await Promise.all(uploads)).map(({ status }) => status),
    [200, 200, 200],
  );
  await until(() => !readdirSync(dir).some((name) => name.startsWith('.')), 'the leftovers are gone');
  const { datasets } = (await early.call('GET', '/api/datasets')).body;
  assert.equal(datasets.map((dataset: Json) => dataset.filename).sort(), ['a.jsonl', 'b.jsonl', 'c.jsonl']);
  assert.equal(readdirSync(dir).sort(), ['a.jsonl', 'b.jsonl', 'c.jsonl']);
});

test('a dataset that is small for a model gets a warning, at the upload and for the model', async () => {
  const content = lines(Array.from({ length: 150 }, (_, place) => ({ input: `a ${place}`, output: 'b' })));
  const { body } = await service.upload('small.jsonl', content);
  assert.match(body.validation.warnings.join(' '), /200 for models of 1B to 3B/);
  const warnings = async (model: string) =>
    (await service.call('GET', `/api/datasets/small.jsonl?rows=0&model_name=${encodeURIComponent(model)}`))
      .body.warnings;
  assert.equal(await warnings('Qwen/Qwen3-8B'), [
    'The dataset has 150 examples. For a model of this size (over 7B), 5000 are recommended (minimum 1000).',
  ]);
  assert.is((await service.call('GET', '/api/datasets/small.jsonl?model_name=')).status, 400);
  assert.is((await service.call('GET', '/api/datasets/small.jsonl?model_name=no%20model')).status, 400);
});

test('a dataset that is deleted while it is read is not found, and never an internal error', async () => {
  const path = '/api/datasets/raced.jsonl';
  const rows = [{ input: 'more', output: 'rows' }];
  const seen = new Set<number>();
  for (let round = 0; round < 20; round += 1) {
    await service.upload('raced.jsonl', supportRows());
    const answers = await Promise.all([
      service.call('GET', `${path}?rows=3`),
      service.call('POST', `${path}/rows`, { rows }),
      service.call('DELETE', path),
      service.call('GET', path),
      service.call('POST', `${path}/split`, { fraction: 0.5 }),
      service.call('GET', `${path}?search=invoice`),
      service.call('POST', '/api/examples/support'),
      service.upload('raced.jsonl', supportRows()),
      service.call('DELETE', path),
    ]);
    for (const { status, body } of answers) {
      seen.add(status);
      assert.ok(status < 500, JSON.stringify(body));
    }
  }
  assert.ok(seen.has(404));
});

test.run();
