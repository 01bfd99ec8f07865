/** Documents and the rows that a model writes about them, with a real HTTP service as the model. */
import { randomBytes } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Answer, Json } from '../client.ts';
import { temporaryFolder } from '../folders.ts';
import { endAll, startService, type TestService, until } from '../service.ts';
import { smallPdf } from '../small-pdf.ts';
import { startTeacher, type TeacherService } from '../teacher.ts';
import { type Description, readDescription } from './description.ts';

const limits = { rowBackoffMs: 20, remoteFirstByteMs: 2_000, documentBytes: 2 ** 20 };
const dataDir = temporaryFolder();
let service: TestService;
let description: Description;
let teacher: TeacherService;

/** Pages of different subjects, each with sentences that no other page has. */
const subjects: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'fees.pdf': [
    [
      'The monthly fee of the library is twelve euros.',
      'It is collected on the third working day',
      'of May and of October.',
    ],
    [
      'Students under twenty pay half of the price.',
      'Their card must be renewed every autumn',
      'at the counter by the entrance.',
    ],
  ],
  'zoo.pdf': [
    [
      'Zebra stripes differ from animal to animal.',
      'Keepers tell them apart by the shoulder.',
      'Feeding takes place at noon.',
    ],
    [],
    [
      'The aquarium was closed for repairs in 1998.',
      'Its largest tank holds ninety thousand litres.',
      'Two turtles live there.',
    ],
  ],
  'boats.pdf': [
    [
      'Sailing boats give way to rowing boats here.',
      'A red flag at the pier forbids leaving.',
      'Life vests are lent for free.',
    ],
    [
      'Diesel is sold at the northern jetty only.',
      'Night mooring costs nine euros and fifty cents.',
      'The harbour master is Ms Okafor.',
    ],
  ],
};

async function upload(name: string, content: Uint8Array | string): Promise<Answer> {
  const form = new FormData();
  form.append('file', new Blob([content as BlobPart]), name);
  const answer = await fetch(`${service.url}/api/documents`, { method: 'POST', body: form });
  const found = { status: answer.status, headers: answer.headers, body: await answer.json() };
  description.check('POST', '/api/documents', found);
  return found;
}
async function call(method: string, path: string, body?: unknown): Promise<Answer> {
  const answer = await service.call(method, path, body);
  description.check(method, path.split('?')[0] as string, answer);
  return answer;
}
const ask = (more: object = {}) => ({
  ...{ name: 'library', kind: 'question-answer', model: 'good', passage_characters: 1_000 },
  ...more,
});
async function ended(id: string): Promise<Json> {
  return until(async () => {
    const { body } = await call('GET', `/api/document_rows/${id}`);
    return ['queued', 'running'].includes(body.state) ? null : body;
  }, `${id} to end`);
}
async function make(more: object = {}): Promise<Json> {
  const { status, body } = await call('POST', '/api/document_rows', ask(more));
  assert.is(status, 200, JSON.stringify(body));
  return ended(body.id);
}
async function textOf(dataset: string): Promise<string> {
  const answer = await fetch(`${service.url}/api/datasets/${dataset}/file`);
  assert.is(answer.status, 200, dataset);
  return answer.text();
}
const rowsOf = async (dataset: string): Promise<Json[]> =>
  (await textOf(dataset))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

/** The text of a page as the service has it. */
async function pageText(file: string, page: number): Promise<string> {
  const { documents } = (await call('GET', '/api/documents')).body;
  const { id } = documents.find(({ name }: Json) => name === file);
  return (await call('GET', `/api/documents/${id}?from=${page}&limit=1`)).body.texts[0].text;
}

async function start(): Promise<void> {
  service = await startService({ dataDir, env: { HONE_TEST_LIMITS: JSON.stringify(limits) } });
  description = await readDescription(service);
}
test.before(async () => {
  teacher = await startTeacher();
  await start();
  for (const [name, pages] of Object.entries(subjects)) {
    const { status, body } = await upload(name, smallPdf(pages));
    assert.is(status, 200, JSON.stringify(body));
    assert.is(body.pages, pages.length);
  }
  const names = [
    'good',
    'mixed',
    'nonsense',
    'other-shape',
    'invents',
    'summaries',
    'labels',
    'fields',
    'variants',
  ];
  const faulty = ['leaves', 'refuses', 'cut-off', 'no-schemas', 'gone', 'slow-down'];
  for (const name of [...names, ...faulty])
    assert.is((await service.call('POST', '/api/remote_models', { name, url: teacher.url })).status, 200);
});
test.after(async () => {
  teacher.close();
  await endAll();
});

test('documents are listed with their pages, and one that is added again is the same', async () => {
  const { documents } = (await call('GET', '/api/documents')).body;
  assert.equal(
    documents.map(({ name }: Json) => name),
    ['boats.pdf', 'fees.pdf', 'zoo.pdf'],
  );
  assert.is(documents[2].pages_without_text, 1);
  assert.is(await pageText('fees.pdf', 1), subjects['fees.pdf']?.[0]?.join('\n'));
  assert.equal((await upload('fees.pdf', smallPdf(subjects['fees.pdf'] as string[][]))).body, documents[1]);
  assert.is((await upload('fees.pdf', smallPdf([['Other text of the same name.']]))).status, 409);
  const { body } = await upload('notes.md', '# Notes\n\nSome text of no weight.');
  assert.equal((await call('GET', `/api/documents/${body.id}`)).body.texts, [
    { page: null, text: '# Notes\n\nSome text of no weight.' },
  ]);
  assert.is((await call('DELETE', `/api/documents/${body.id}`)).status, 200);
  assert.is((await call('DELETE', `/api/documents/${body.id}`)).status, 404);
});

test('a file that cannot be read is refused by name, and nothing is kept of it', async () => {
  const before = (await call('GET', '/api/documents')).body;
  const refusals: [name: string, content: Uint8Array | string, status: number, said: RegExp][] = [
    ['scan.pdf', smallPdf([[], []]), 400, /scan\.pdf has no text on its 2 pages: they seem to be scanned/],
    ['broken.pdf', 'hello', 400, /broken\.pdf is damaged/],
    ['broken.docx', 'hello', 400, /broken\.docx is damaged/],
    ['sheet.xlsx', 'hello', 400, /must end in \.pdf/],
    ['empty.txt', '', 400, /empty\.txt has no text/],
    ['large.pdf', randomBytes(2 ** 20 + 1), 413, /larger than the limit of 1 MiB/],
  ];
  for (const [name, content, status, said] of refusals) {
    const answer = await upload(name, content);
    assert.is(answer.status, status, name);
    assert.match(answer.body.detail, said);
  }
  assert.equal((await call('GET', '/api/documents')).body, before);
});

test('every quotation stands on its page, no document is on both sides, and the same seed gives the same file', async () => {
  const { body: estimate } = await call('POST', '/api/document_rows/estimate', ask());
  assert.is(estimate.sources, 6);
  assert.is(estimate.requests, 6);
  assert.ok(estimate.tokens.prompt > 600);
  const first = await make();
  assert.is(first.state, 'completed', first.error);
  assert.equal(first.files, estimate.files);
  assert.equal(first.tokens, { prompt: 600, answer: 120, grading: 0, expected: null });
  assert.equal(first.datasets, { training: 'library.jsonl', validation: 'library-validation.jsonl' });
  const training = await rowsOf('library.jsonl');
  const validation = await rowsOf('library-validation.jsonl');
  assert.equal(first.rows, { training: training.length, validation: validation.length });
  // Two or three sentences on each page.
  assert.is(training.length + validation.length, 16);
  for (const { file, page, quotation, input, output } of [...training, ...validation]) {
    assert.ok((await pageText(file, page)).includes(quotation), quotation);
    assert.match(input, /^Is it right that/);
    assert.match(output, /^Yes: /);
  }
  const filesOf = (rows: Json[]) => [...new Set(rows.map(({ file }) => file))].sort();
  assert.equal(filesOf(training), first.files.training);
  assert.equal(filesOf(validation), first.files.validation);
  assert.is(first.files.validation.length, 1);
  assert.not(first.files.training.includes(first.files.validation[0]));

  const again = await make({ name: 'again' });
  assert.is(await textOf(again.datasets.training), await textOf('library.jsonl'));
  assert.is(await textOf(again.datasets.validation), await textOf('library-validation.jsonl'));
  const other = await make({ name: 'other', seed: 7 });
  assert.is.not(await textOf(other.datasets.training), await textOf('library.jsonl'));
  // What was made before is never replaced.
  const same = await make({ max_rows: 2, validation_share: 0 });
  assert.is.not(same.datasets.training, 'library.jsonl');
  assert.is((await rowsOf(same.datasets.training)).length, 2);
});

test('rows with an invented quotation are dropped and counted, and so are repeated ones', async () => {
  const { rows, dropped, useless, state } = await make({
    name: 'mixed',
    model: 'mixed',
    rows_per_passage: 4,
  });
  assert.is(state, 'completed');
  assert.equal(useless, { refused: 0, cut_off: 0, malformed: 0, rejected: 0 });
  // Of four rows, one is invented, one quotes a word alone, and one repeats another.
  assert.is(dropped.quotation, 12);
  assert.is(dropped.near_duplicate, 6);
  assert.is(rows.training + rows.validation, 6);
  for (const { quotation, file, page } of await rowsOf('mixed.jsonl'))
    assert.ok((await pageText(file, page)).includes(quotation));
});

test('summaries, labels and fields are rows, too', async () => {
  const summary = await make({ name: 'summaries', kind: 'summary', model: 'summaries', validation_share: 0 });
  const [row] = await rowsOf(summary.datasets.training);
  assert.match(row.output, /^In short: /);
  assert.ok(row.input.includes(row.quotation));
  const labels = await make({
    name: 'labels',
    kind: 'classification',
    model: 'labels',
    labels: ['animals', 'money'],
  });
  const labelled = [...(await rowsOf('labels.jsonl')), ...(await rowsOf('labels-validation.jsonl'))];
  assert.is(labelled.length, 6);
  for (const { input, output } of labelled) assert.is(output, input.includes('Zebra') ? 'animals' : 'money');
  assert.is(labels.state, 'completed');
  await make({
    name: 'fields',
    kind: 'extraction',
    model: 'fields',
    fields: ['subject', 'place'],
    validation_share: 0,
  });
  for (const { input, output } of await rowsOf('fields.jsonl'))
    assert.equal(JSON.parse(output), { subject: input.split(' ')[0], place: null });
});

test('a model that refuses, answers nonsense or is gone ends a making with what is wrong', async () => {
  const failures: [model: string, said: RegExp][] = [
    ['nonsense', /6 answers of nonsense made no row \(answers: 6 of another shape/],
    ['other-shape', /6 of another shape/],
    ['refuses', /6 refused/],
    ['cut-off', /6 cut off/],
    ['invents', /rows: 16 with a quotation that does not stand in its passage/],
    ['no-schemas', /asked for in vain\)\. response_format json_schema is not supported/],
    ['gone', /gone at .* answered 503\. It says: Overloaded/],
  ];
  for (const [model, said] of failures) {
    const { state, error, datasets } = await make({ name: `of-${model}`, model });
    assert.is(state, 'failed', model);
    assert.match(error, said);
    assert.equal(datasets, { training: null, validation: null });
  }
  // One that asks for patience gets it.
  const slow = await make({ name: 'slow', model: 'slow-down' });
  assert.is(slow.state, 'completed', slow.error);
  assert.is(slow.answered, 6);
});

test('a model that goes away, or never answers, leaves what was made, and it goes on from there', async () => {
  teacher.answersLeft = 3;
  const from = teacher.answered.length;
  const left = await make({ name: 'left', model: 'leaves', validation_share: 0 });
  assert.is(left.state, 'failed');
  assert.match(left.error, /leaves at .* cannot be reached|broke off/);
  assert.is(left.answered, 3);
  const rows = await rowsOf(left.datasets.training);
  assert.is(rows.length, left.rows.training);
  assert.ok(rows.length > 0);
  teacher.answersLeft = 100;
  assert.is((await call('POST', `/api/document_rows/${left.id}/resume`)).status, 200);
  const done = await ended(left.id);
  assert.is(done.state, 'completed', done.error);
  // Each passage was answered once, and the dataset that was written before has all rows now.
  assert.is(teacher.answered.length - from, 6);
  assert.is(done.datasets.training, left.datasets.training);
  const whole = await make({ name: 'whole', validation_share: 0 });
  assert.is(await textOf(done.datasets.training), await textOf(whole.datasets.training));

  teacher.isHeld = true;
  const silent = await make({ name: 'silent' });
  teacher.release();
  assert.is(silent.state, 'failed');
  assert.match(silent.error, /good at .* did not answer for 2 s/);
});

test('datasets of documents can be trained on', async () => {
  const { datasets } = (await service.call('GET', '/api/datasets')).body;
  const { valid, shape } = datasets.find(({ filename }: Json) => filename === 'library.jsonl');
  assert.equal([valid, shape], [true, 'input-output']);
});

test('a grader scores rows, and those below the bar are dropped', async () => {
  const grader = {
    type: 'hone_contains',
    name: 'names-twelve',
    input: '{{item.passage}}',
    values: ['twelve'],
  };
  assert.is((await service.call('POST', '/api/graders', grader)).status, 200);
  const { rows, dropped } = await make({
    name: 'graded',
    grader: 'names-twelve',
    bar: 1,
    validation_share: 0,
  });
  assert.is(dropped.below_bar, 14);
  assert.is(rows.training, 2);
  for (const { file, page, score } of await rowsOf('graded.jsonl'))
    assert.equal([file, page, score], ['fees.pdf', 1, 1]);
});

test('variants of rows keep what the rows rest on, and a wrong answer makes a preference', async () => {
  const paraphrased = await make({
    name: 'paraphrased',
    kind: 'paraphrase',
    model: 'variants',
    dataset: 'library.jsonl',
  });
  assert.is(paraphrased.state, 'completed', paraphrased.error);
  const before = await rowsOf('library.jsonl');
  const after = await rowsOf('paraphrased.jsonl');
  assert.is(after.length, before.length);
  for (const row of after) {
    const original = before.find(({ input }) => row.input === `Tell me this. ${input}`);
    assert.equal(row, { ...original, input: row.input });
  }
  await make({ name: 'wrong', kind: 'wrong-answer', model: 'variants', dataset: 'library.jsonl' });
  const [{ prompt, chosen, rejected }] = await rowsOf('wrong.jsonl');
  assert.ok(before.some(({ input, output }) => input === prompt && output === chosen));
  assert.is(rejected, 'Nobody knows that, I fear.');
});

test('a request for what cannot be made is refused with every fault', async () => {
  const { documents } = (await call('GET', '/api/documents')).body;
  const one = [documents[0].id];
  const refusals: [body: object, status: number, said: RegExp][] = [
    [{ kind: 'poem' }, 400, /"kind": must be one of/],
    [{ kind: 'classification' }, 400, /labels/],
    [{ kind: 'paraphrase' }, 400, /dataset/],
    [{ dataset: 'library.jsonl' }, 400, /dataset/],
    [{ bar: 1 }, 400, /needs a grader/],
    [{ max_rows: 0 }, 400, /at least 1/],
    [{ model: 'nobody' }, 404, /nobody/],
    [{ documents: ['none'] }, 404, /no document "none"/],
    [{ documents: [] }, 400, /at least one document/],
    [{ documents: one, validation_share: 0.2 }, 400, /at least two documents/],
    [{ grader: 'nobody' }, 404, /no grader nobody/],
    [{ colour: 'red' }, 400, /colour/],
  ];
  const before = (await call('GET', '/api/document_rows')).body.makings.length;
  for (const [body, status, said] of refusals) {
    const answer = await call('POST', '/api/document_rows', ask(body));
    assert.is(answer.status, status, JSON.stringify([body, answer.body]));
    assert.match(answer.body.detail, said);
  }
  assert.is((await call('GET', '/api/document_rows')).body.makings.length, before);
  for (const path of ['rows_999', 'rows_0', 'constructor'])
    assert.is((await call('GET', `/api/document_rows/${path}`)).status, 404);
});

test('a making that is stopped keeps its rows, and goes on where it was', async () => {
  teacher.isHeld = true;
  const { body } = await call('POST', '/api/document_rows', ask({ name: 'stopped' }));
  const { length } = teacher.asked;
  await until(() => teacher.asked.length >= Math.max(length, 4), 'questions');
  const stopped = (await call('POST', `/api/document_rows/${body.id}/stop`)).body;
  assert.is(stopped.state, 'stopped');
  assert.equal(stopped.datasets, { training: null, validation: null });
  assert.is((await call('POST', `/api/document_rows/${body.id}/stop`)).status, 409);
  teacher.release();
  assert.is((await call('POST', `/api/document_rows/${body.id}/resume`)).status, 200);
  const done = await ended(body.id);
  assert.is(done.state, 'completed');
  assert.is(await textOf('stopped.jsonl'), await textOf('library.jsonl'));
  assert.is((await call('POST', `/api/document_rows/${body.id}/resume`)).status, 409);
  assert.is((await call('DELETE', `/api/document_rows/${body.id}`)).status, 200);
  assert.is((await call('GET', `/api/document_rows/${body.id}`)).status, 404);
  assert.is(await textOf('stopped.jsonl'), await textOf('library.jsonl'));
});

test('after a kill, nothing is asked again that was answered', async () => {
  const pages = Array.from({ length: 60 }, (_, at) => [
    `Entry ${at} of the register is kept in room ${at * 7 + 3}.`,
    `Its keeper number ${at * 13 + 1} was born in ${1900 + at}.`,
  ]);
  const { body: document } = await upload('register.pdf', smallPdf(pages));
  const asked = ask({ name: 'killed', documents: [document.id], passage_characters: 200 });
  const from = teacher.answered.length;
  const { body } = await call('POST', '/api/document_rows', asked);
  await until(
    async () => (await call('GET', `/api/document_rows/${body.id}`)).body.answered >= 10,
    'answers',
  );
  const { answered: known } = (await call('GET', `/api/document_rows/${body.id}`)).body;
  service.process.kill('SIGKILL');
  await service.end();
  await start();
  const done = await ended(body.id);
  assert.is(done.state, 'completed', done.error);
  assert.is(done.answered, 60);
  const answers = teacher.answered.slice(from);
  const again = answers.length - new Set(answers).size;
  assert.is(new Set(answers).size, 60);
  // At most those whose answers were under way.
  assert.ok(again <= 4, `${again} of ${answers.length} again, ${known} were known`);
  assert.is((await call('DELETE', `/api/document_rows/${body.id}`)).status, 200);
  const other = await make({ name: 'not-killed', documents: [document.id], passage_characters: 200 });
  assert.is(await textOf('killed.jsonl'), await textOf(other.datasets.training));
});

test.run();
