import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import { readConfig } from '../../src/config.ts';
import { readForeignRows } from '../../src/trainer/import-rows.ts';
import {
  type Answer,
  endAll,
  type Json,
  root,
  startService,
  type TestService,
  temporaryFolder,
  until,
} from '../service.ts';
import { type Description, readDescription } from './description.ts';

let service: TestService;
let description: Description;
const python = join(root, 'trainer', '.venv', 'bin', 'python');
const folder = temporaryFolder();

test.before(async () => {
  service = await startService();
  description = await readDescription(service);
});
test.after(endAll);

const numbers = Array.from({ length: 12 }, (_, place) => place + 1);
const jsonl = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).join('\n');
const csv = (separator = ',') =>
  ['question,reply', ...numbers.map((n) => `"Where is ${n}, please?","In the\nbox ""${n}"""`)]
    .join('\r\n')
    .replaceAll('","', `"${separator}"`)
    .replace('question,', `question${separator}`);
const mappedRow = (n: number) => ({ input: `Where is ${n}, please?`, output: `In the\nbox "${n}"` });

/** Sends a file to be imported to the service at `to`. */
async function send(name: string, content: string | Uint8Array, to = service): Promise<Answer> {
  const form = new FormData();
  form.append('file', new Blob([content as BlobPart]), name);
  const response = await fetch(`${to.url}/api/imports`, {
    method: 'POST',
    body: form,
    headers: { connection: 'close' },
  });
  return { status: response.status, body: await response.json(), headers: response.headers };
}

/** The proposal for a file. */
async function propose(name: string, content: string | Uint8Array): Promise<Json> {
  const answer = await send(name, content);
  assert.is(answer.status, 200, JSON.stringify(answer.body));
  description.check('POST', '/api/imports', answer);
  return answer.body;
}

/** Starts an import and waits for its end. */
async function run(id: string, options: Json = {}, from = service): Promise<Json> {
  const answer = await from.call('POST', `/api/imports/${id}/start`, options);
  assert.is(answer.status, 200, JSON.stringify(answer.body));
  return until(async () => {
    const { body } = await from.call('GET', `/api/imports/${id}`);
    return body.state === 'running' ? null : body;
  }, 'the import ended');
}

const rowsOf = async (name: string): Promise<Json[]> =>
  (await service.call('GET', `/api/datasets/${name}?rows=20`)).body.rows;
const folders = () => readdirSync(join(service.dataDir, 'datasets')).filter((name) => name.startsWith('.'));

/** A Parquet file of rows. */
function parquet(rows: readonly unknown[]): Buffer {
  const path = join(folder, 'made.parquet');
  const program =
    'import json, sys, pyarrow as pa, pyarrow.parquet as pq;' +
    'pq.write_table(pa.Table.from_pylist(json.load(sys.stdin)), sys.argv[1])';
  execFileSync(python, ['-c', program, path], { input: JSON.stringify(rows) });
  return readFileSync(path);
}

test('every container, plain or gzip, is told from its bytes and becomes the same rows', async () => {
  const rows = numbers.map((n) => ({ question: mappedRow(n).input, reply: mappedRow(n).output }));
  const containers: [string, string | Uint8Array][] = [
    ['csv', csv()],
    ['tsv', csv('\t')],
    ['csv', `\ufeff${csv(';')}`],
    ['csv', Buffer.from(`\ufeff${csv()}`, 'utf16le')],
    ['json', JSON.stringify(rows, null, 2)],
    ['jsonl', `\ufeff${jsonl(rows)}`],
    ['parquet', parquet(rows)],
  ];
  for (const [container, content] of containers) {
    for (const packed of content === csv() || container === 'parquet' ? [false, true] : [false]) {
      const sent = packed ? gzipSync(content) : content;
      const record = await propose('questions.dat', sent);
      const about = `${container} ${packed}`;
      assert.equal([record.state, record.container, record.shape], ['proposed', container, 'columns'], about);
      assert.is(record.compression, packed ? 'gzip' : null, about);
      assert.equal(record.mapping, {
        target: 'input-output',
        columns: { input: 'question', output: 'reply' },
      });
      assert.equal(
        record.samples.map(({ after }: Json) => after),
        [1, 2, 3].map(mappedRow),
      );
      assert.equal(record.samples[0].before, rows[0]);
      const done = await run(record.id, { name: 'questions.jsonl' });
      assert.equal([done.state, done.dataset, done.error], ['completed', 'questions.jsonl', null], about);
      assert.is(done.progress.done_bytes, done.progress.total_bytes, about);
      assert.equal(await rowsOf('questions.jsonl'), numbers.map(mappedRow), about);
    }
  }
  const { body } = await service.call('GET', '/api/datasets/questions.jsonl');
  const { size_bytes: _size, ...source } = body.import.source;
  assert.equal(source, { kind: 'upload', name: 'questions.dat' });
  assert.equal([body.import.container, body.import.compression], ['parquet', 'gzip']);
  assert.equal([body.import.rows_read, body.import.rows_written, body.import.rows_skipped], [12, 12, 0]);
  const note = join(service.dataDir, 'datasets', 'questions.jsonl.import.json');
  assert.ok(existsSync(note));
  await service.call('DELETE', '/api/datasets/questions.jsonl');
  assert.not(existsSync(note));
  assert.equal(folders(), [], 'no source is kept of an import that has ended');
});

const u = { role: 'user', content: 'U' };
const a = { role: 'assistant', content: 'A' };
test('every format of rows is told from the first row', async () => {
  const formats: [string, string, Json, Json][] = [
    [
      ...(['alpaca', 'input-output'] as const),
      { instruction: 'Say', input: 'it', output: 'It' },
      { input: 'Say\n\nit', output: 'It' },
    ],
    [
      ...(['sharegpt', 'messages'] as const),
      {
        conversations: [
          { from: 'system', value: 'S' },
          { from: 'human', value: 'U' },
          { from: 'gpt', value: 'A' },
        ],
      },
      { messages: [{ role: 'system', content: 'S' }, u, a] },
    ],
    [
      ...(['prompt-completion', 'input-output'] as const),
      { prompt: 'U', completion: 'A' },
      { input: 'U', output: 'A' },
    ],
    [
      ...(['openai-chat', 'messages'] as const),
      {
        messages: [
          { role: 'developer', content: 'S' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'U' },
              { type: 'text', text: '!' },
            ],
          },
          { ...a, weight: 0 },
          { ...a, weight: 1 },
        ],
        parallel_tool_calls: false,
      },
      {
        messages: [
          { role: 'system', content: 'S' },
          { role: 'user', content: 'U!' },
          { ...a, weight: 0 },
          { ...a, weight: 1 },
        ],
      },
    ],
    [...(['messages', 'messages'] as const), { messages: [u, a] }, { messages: [u, a] }],
    [...(['text', 'text'] as const), { text: 'Once.' }, { text: 'Once.' }],
    [
      ...(['preference', 'preference'] as const),
      { prompt: 'U', chosen: 'A', rejected: 'B' },
      { prompt: 'U', chosen: 'A', rejected: 'B' },
    ],
    [
      ...(['unpaired-preference', 'unpaired-preference'] as const),
      { prompt: 'U', completion: 'A', label: 'thumbs_down', at: 3 },
      { prompt: 'U', completion: 'A', label: false },
    ],
  ];
  for (const [shape, target, before, after] of formats) {
    const record = await propose(`${shape}.json`, JSON.stringify(Array(12).fill(before)));
    assert.equal([record.shape, record.target], [shape, target], JSON.stringify(record));
    const done = await run(record.id);
    assert.is(done.state, 'completed', JSON.stringify(done.error));
    assert.is(done.dataset, `${shape}.jsonl`);
    assert.equal((await rowsOf(done.dataset))[11], after);
  }
});

test('a mapping can be chosen, and one onto nothing is refused by name', async () => {
  const record = await propose('odd.csv', csv().replace('question,reply', 'x,y'));
  const guess = { target: 'input-output', columns: { input: 'x', output: 'y' } };
  assert.equal([record.shape, record.mapping, record.guessed], ['columns', guess, true]);
  const start = await service.call('POST', `/api/imports/${record.id}/start`);
  assert.is(start.status, 400);
  assert.match(start.body.detail, `give the mapping to use, such as ${JSON.stringify(guess)}`);
  const none = await propose(
    'codes.csv',
    `x,y\n${numbers.map((n) => `${n},2024-01-0${(n % 9) + 1}`).join('\n')}`,
  );
  assert.equal([none.mapping, none.target, none.guessed], [null, null, false]);
  const unmapped = await service.call('POST', `/api/imports/${none.id}/start`);
  assert.is(unmapped.status, 400);
  assert.match(unmapped.body.detail, 'Choose the column');
  const mapping = (columns: Json) => ({ mapping: { target: 'input-output', columns } });
  const preview = (columns: Json) =>
    service.call('POST', `/api/imports/${record.id}/preview`, mapping(columns));
  for (const [columns, words] of [
    [{ input: 'x' }, 'field "output"'],
    [{ input: 'x', output: 'z' }, 'no column "z"; its columns: x, y'],
    [{ input: 'x', output: 'y', text: 'x' }, '"text" is no field'],
  ] as const) {
    const answer = await preview(columns);
    description.check('POST', '/api/imports/{id}/preview', answer);
    assert.is(answer.status, 400);
    assert.match(answer.body.detail, words);
  }
  const { body } = await preview({ input: 'y', output: 'x' });
  assert.equal(body.samples[0].after, { input: mappedRow(1).output, output: mappedRow(1).input });
  const done = await run(record.id, mapping({ input: 'x', output: 'y' }));
  assert.equal(await rowsOf(done.dataset), numbers.map(mappedRow));
  assert.is((await preview({ input: 'x', output: 'y' })).status, 409);
});

test('fields are filled from templates, with a system prompt and columns that are kept', async () => {
  const rows = numbers.map((n) => ({
    ask: `Where is ${n}?`,
    team: n % 2 ? 'A' : '',
    id: n,
    reply: 'In the box',
  }));
  const { id } = await propose('teams.json', JSON.stringify(rows));
  const mapping = (fields: Json) => ({ mapping: { target: 'input-output', columns: {}, ...fields } });
  const templates = { input: 'Team {{ team }}:\n\n{{ask}}', output: '{{id}}: {{reply}}' };
  for (const [fields, words] of [
    [
      { templates: { ...templates, input: '{{Team}}' } },
      'no column "Team"; its columns: ask, team, id, reply',
    ],
    [{ templates: { ...templates, input: 'Answer {{ask' } }, '"{{ask" without a column'],
    [{ templates: { ...templates, input: '{{}}' } }, 'without a column'],
    [{ templates: { ...templates, input: 'Answer' } }, 'names no column'],
    [{ templates: { ...templates, input: ' ' } }, 'empty'],
    [{ templates: { input: '{{ask}}' } }, 'field "output"'],
    [{ templates, columns: { input: 'ask' } }, 'a column and a template'],
    [{ templates, system: 'You help {{who}}.' }, 'no column "who"'],
    [{ templates, metadata: ['who'] }, 'no column "who"'],
    [{ target: 'messages', templates: { messages: '{{ask}}' } }, 'has no template'],
    [{ target: 'text', columns: { text: 'ask' }, system: 'Be brief.' }, 'no system prompt'],
  ] as const) {
    for (const step of ['preview', 'start']) {
      const answer = await service.call('POST', `/api/imports/${id}/${step}`, mapping(fields));
      assert.is(answer.status, 400, JSON.stringify(fields));
      assert.match(answer.body.detail, words);
    }
  }
  const chosen = { templates, system: 'Be brief.', metadata: ['id', 'team'] };
  const preview = await service.call('POST', `/api/imports/${id}/preview`, mapping(chosen));
  description.check('POST', '/api/imports/{id}/preview', preview);
  const row = (n: number, input: string) => ({
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: input },
      { role: 'assistant', content: `${n}: In the box` },
    ],
    metadata: { id: n, team: n % 2 ? 'A' : '' },
  });
  const wanted = [row(1, 'Team A:\n\nWhere is 1?'), row(2, 'Where is 2?')];
  assert.equal(
    preview.body.samples.slice(0, 2).map(({ after }: Json) => after),
    wanted,
  );
  assert.equal([preview.body.target, preview.body.mapping], ['messages', mapping(chosen).mapping]);
  const done = await run(id, mapping(chosen));
  assert.equal((await rowsOf(done.dataset)).slice(0, 2), wanted);
  const { body } = await service.call('GET', `/api/datasets/${done.dataset}`);
  assert.equal([body.validation.valid, body.import.mapping], [true, mapping(chosen).mapping]);
});

test('faults are told by line and column, and nothing of the file is listed', async () => {
  const chats = (last: Json) => jsonl([...Array(12).fill({ messages: [u, a] }), { messages: last }]);
  const plain = parquet(numbers.map(mappedRow));
  const nested = parquet(numbers.map((n) => ({ input: [`${n}`], output: 'A' })));
  const latin = Buffer.concat([Buffer.from(csv()), Buffer.from('\r\ncaf\u00e9,x\r\n', 'latin1')]);
  const faults: [string, string | Uint8Array, number | null, RegExp][] = [
    [
      'uneven',
      csv().replace('"Where is 3, please?"', '"Where is 3, please?",more'),
      6,
      /Line 6: has 3 values/,
    ],
    ['quote', `${csv()}\r\n"open,x`, 26, /Line 26: .*never closed/],
    ['latin-1', latin, 26, /Line 26 is not UTF-8: its byte 4 is 0xe9.*iconv/],
    ['twice', 'a,a\n1,2\n', 1, /two columns are named "a"/],
    ['empty', '', null, /empty/],
    ['blank', ' \n\n', null, /white space/],
    ['archive', 'PK\u0003\u0004....', null, /ZIP.*CSV/],
    ['gzip', gzipSync(csv()).subarray(0, -20), null, /gzip file is cut short/],
    ['parquet', plain.subarray(0, plain.length - 40), null, /Parquet file cannot be read.*cut short/],
    ['nested', nested, 1, /Row 1: column "input" holds a list/],
    ['array', '[{"input":"a","output":"b"},\n{"input":"c"', 2, /Line 2: the JSON array is cut short/],
    ['comma', '[{"input":"a"}\n{"input":"c"}]', 2, /where a comma belongs/],
    ['one-line', JSON.stringify([...numbers.map(mappedRow), { input: 'a' }]), 13, /Row 13: column "output"/],
    ['line', `${jsonl(numbers.map(mappedRow))}\n{oops`, 13, /Line 13: invalid JSON/],
    ['silent', chats([u]), 13, /Line 13: .*no assistant message/],
    ['role', chats([u, { role: 'wizard', content: 'A' }]), 13, /Line 13: message 2 has the role 'wizard'/],
    [
      'tool',
      chats([u, { ...a, tool_calls: [{}] }, a]),
      13,
      /Line 13: message 2 has a call without the name of its function/,
    ],
    [
      'image',
      chats([{ role: 'user', content: [{ type: 'image_url' }] }, a]),
      13,
      /part of the type 'image_url'/,
    ],
    ['few', 'input,output\na,b\n', null, /1 examples; at least 10/],
  ];
  for (const [name, content, line, words] of faults) {
    let record = await propose(name, content);
    if (record.state === 'proposed') record = await run(record.id, {});
    assert.is(record.state, 'failed', name);
    assert.match(record.error.message, words, name);
    assert.is(record.problems[0]?.line ?? null, line, name);
    assert.is(record.dataset, null);
    assert.is((await service.call('GET', `/api/datasets/${name}.jsonl`)).status, 404);
  }
});

test('bad rows are counted, and left out if asked', async () => {
  const rows = [...numbers.map(mappedRow), { input: 'a' }, { input: ['b'], output: 'c' }];
  const record = await propose('some.jsonl', jsonl(rows));
  const failed = await run(record.id);
  assert.equal([failed.state, failed.total_problems], ['failed', 2]);
  assert.equal(failed.problems, [
    { line: 13, column: 'output', message: 'Line 13: column "output" has no value' },
    {
      line: 14,
      column: 'input',
      message: 'Line 14: column "input" holds a list, which does not fit; map a column of text',
    },
  ]);
  assert.match(failed.error.message, /and 1 more.*skip_invalid/);
  const reasons = failed.problems.map(({ column, message }: Json) => ({
    column,
    message: message.replace(/^Line \d+: /, ''),
    rows: 1,
  }));
  assert.equal(failed.left_out, reasons);
  // It was known before.
  const { row_count: counted } = record;
  assert.equal([counted.rows, counted.is_exact, counted.fit, counted.left_out], [14, true, 12, reasons]);
  const done = await run(record.id, { skip_invalid: true });
  assert.equal([done.state, done.progress.rows, done.progress.skipped], ['completed', 12, 2]);
  const { body } = await service.call('GET', `/api/datasets/${done.dataset}`);
  assert.equal([body.import.rows_read, body.import.rows_skipped, body.num_examples], [14, 2, 12]);
});

test('rows that are left out of all, or nearly all, are told by column before and after', async () => {
  const lists = numbers.map((n) => ({ input: [`${n}`], output: 'A' }));
  const record = await propose(
    'lists.json',
    JSON.stringify({ made: 'by hand', data: [mappedRow(1), ...lists] }, null, 1),
  );
  assert.equal([record.container, record.rows_at, record.state], ['json', 'data', 'proposed']);
  const why = {
    column: 'input',
    message: 'column "input" holds a list, which does not fit; map a column of text',
  };
  assert.equal(record.row_count, {
    ...{ rows: 13, is_exact: true, checked: 13, fit: 1, fault: null },
    left_out: [{ ...why, rows: 12 }],
  });
  const failed = await run(record.id, { skip_invalid: true });
  assert.equal([failed.state, failed.left_out], ['failed', [{ ...why, rows: 12 }]]);
  assert.match(
    failed.error.message,
    /12 were left out: column "input" holds a list.*\(12 rows\).*1 examples/,
  );
});

test('rows come from the list of a JSON object that is chosen, and questions from SQuAD’s own JSON', async () => {
  const others = numbers.slice(0, 10).map((n) => ({ question: `Q${n} {{x}}`, reply: `A${n}` }));
  const articles = numbers.map((n) => ({
    title: `T${n}`,
    paragraphs: [
      {
        context: `Parcel ${n} left.`,
        qas: [{ id: `${n}`, question: 'What left?', answers: [{ text: `Parcel ${n}`, answer_start: 0 }] }],
      },
    ],
  }));
  const record = await propose('lists.json', JSON.stringify({ data: articles, of: { others } }));
  assert.equal(record.lists, [
    { key: 'data', rows: articles.length },
    { key: 'of.others', rows: 10 },
  ]);
  assert.equal(
    [record.rows_at, record.row_count.rows, record.target],
    ['data', articles.length, 'question-answer'],
  );
  assert.equal(record.samples[0].after, {
    ...{ context: 'Parcel 1 left.', question: 'What left?', answer: 'Parcel 1' },
  });
  const preview = async (fields: Json) =>
    await service.call('POST', `/api/imports/${record.id}/preview`, { mapping: null, ...fields });
  const wrong = await preview({ rows_at: 'none' });
  assert.is(wrong.status, 400);
  assert.match(wrong.body.detail, 'no list of rows under "none"; those with rows: data, of.others');
  const templates = { input: 'Ask \\{{that}}: {{question}}' };
  const mapping = { target: 'input-output', columns: { output: 'reply' }, templates };
  const { body: chosen } = await preview({ rows_at: 'of.others', mapping });
  assert.equal([chosen.rows_at, chosen.row_count.rows], ['of.others', 10]);
  assert.equal(chosen.samples[0].after, { input: 'Ask {{that}}: Q1 {{x}}', output: 'A1' });
  const done = await run(record.id, { mapping });
  assert.equal([done.state, done.progress.rows], ['completed', 10]);
});

test('a stored dataset and a path are imported, and convert does so in one step', async () => {
  await service.upload('mine.jsonl', jsonl(Array(12).fill({ question: 'U', reply: 'A' })));
  assert.is((await service.call('GET', '/api/datasets/mine.jsonl')).body.convertible, 'columns');
  const { body } = await service.call('POST', '/api/imports', { dataset: 'mine.jsonl' });
  assert.equal(body.samples[0].after, { input: 'U', output: 'A' });
  assert.is((await run(body.id)).dataset, 'mine-converted.jsonl');
  const { body: converted } = await service.call('POST', '/api/datasets/mine.jsonl/convert');
  assert.equal(
    [converted.filename, converted.rows[0]],
    ['mine-converted.jsonl', { input: 'U', output: 'A' }],
  );
  const path = join(folder, 'here.csv');
  writeFileSync(path, csv());
  const { body: read } = await service.call('POST', '/api/imports', { path });
  assert.is((await run(read.id)).dataset, 'here.jsonl');
  assert.ok(existsSync(path), 'a file of the user stays');
  for (const [given, status] of [
    [{ path: join(folder, 'nowhere.csv') }, 404],
    [{ path: folder }, 400],
    [{ path: 'here.csv' }, 400],
    [{ dataset: 'none.jsonl' }, 404],
    [{ path, dataset: 'mine.jsonl' }, 400],
    [{}, 400],
  ] as const) {
    const answer = await service.call('POST', '/api/imports', given);
    assert.is(answer.status, status, JSON.stringify([given, answer.body]));
    description.check('POST', '/api/imports', answer);
  }
});

test('an import is cancelled with all it left, and what a crash leaves is removed', async () => {
  const path = join(folder, 'endless.jsonl');
  execFileSync('mkfifo', [path]);
  // It takes minutes to read, and no time to write: gzip may have many members.
  const member = gzipSync('a question,an answer\n'.repeat(50_000));
  const long = join(folder, 'long.csv');
  writeFileSync(long, Buffer.concat([gzipSync('input,output\n'), ...Array(2_000).fill(member)]));
  assert.is((await service.call('POST', '/api/imports', { path })).status, 400, 'a pipe is not waited for');
  const { body: record } = await service.call('POST', '/api/imports', { path: long });
  const started = await service.call('POST', `/api/imports/${record.id}/start`);
  assert.is(started.body.state, 'running');
  const frames: Json[] = [];
  const socket = new WebSocket(`${service.url.replace('http', 'ws')}/ws/training`);
  socket.on('message', (data) => frames.push(JSON.parse(String(data))));
  await until(() => frames.some(({ type }) => type === 'import'), 'a frame tells its progress');
  assert.is((await service.call('DELETE', `/api/imports/${record.id}`)).status, 200);
  await until(() => frames.some(({ state }) => state === 'cancelled'), 'a frame tells its end');
  socket.close();
  assert.is((await service.call('GET', `/api/imports/${record.id}`)).status, 404);
  assert.is((await service.call('GET', '/api/datasets/long.jsonl')).status, 404);
  assert.not(readdirSync(join(service.dataDir, 'datasets')).some((name) => name.endsWith('.partial')));

  const kept = await propose('kept.csv', csv());
  const { body: again } = await service.call('POST', '/api/imports', { path: long });
  await service.call('POST', `/api/imports/${again.id}/start`);
  assert.ok((await service.call('GET', '/api/imports')).body.imports.some(({ id }: Json) => id === kept.id));
  assert.ok(folders().length > 0);
  await service.end('SIGKILL');
  const dir = join(service.dataDir, 'datasets');
  writeFileSync(join(dir, 'gone.jsonl.import.json'), '{}');
  service = await startService({ dataDir: service.dataDir });
  assert.equal((await service.call('GET', '/api/imports')).body.imports, []);
  assert.equal(folders(), []);
  assert.not(existsSync(join(dir, 'gone.jsonl.import.json')));
  assert.is((await service.call('GET', '/api/datasets/long.jsonl')).status, 404);
});

test('uploads above the limit and gzip bombs are refused', async () => {
  const small = await startService({ limits: { uploadBytes: 100_000, importBytes: 200_000 } });
  const wide = `input,output\n${'a,b\n'.repeat(100_000)}`;
  assert.is((await send('big.csv', wide, small)).status, 413);
  const padded = `input,output,rest\n${`a,b,${'x'.repeat(100)}\n`.repeat(4_000)}`;
  const { body: bomb } = await send('bomb.csv', gzipSync(padded), small);
  const ended = await run(bomb.id, {}, small);
  assert.is(ended.state, 'failed');
  assert.match(ended.error.message, /expands to more than the limit of 200,000 bytes/);
  const { body: many } = await send(
    'many.parquet',
    parquet(Array(20_000).fill({ input: 'a', output: 'b' })),
    small,
  );
  assert.match((await run(many.id, {}, small)).error.message, /more than 200000 bytes/);
  assert.equal((await small.call('GET', '/api/datasets')).body.datasets, []);
  await small.end();
});

test('rows that are read after the process has ended are all there', async () => {
  const path = join(folder, 'late.jsonl');
  writeFileSync(path, '{"question":"What?","answer":"That."}\n'.repeat(10));
  const { rows, ended } = readForeignRows(
    readConfig([], { HOME: folder }, folder),
    {
      paths: [path],
      scratch: folder,
      limitBytes: 1e6,
      mapping: { target: 'input-output', columns: { input: 'question', output: 'answer' } },
      run: true,
      skipInvalid: false,
      rowsAt: null,
    },
    AbortSignal.timeout(60_000),
    () => {},
  );
  await ended;
  assert.is(await text(rows), '{"input":"What?","output":"That."}\n'.repeat(10));
});

test.run();
