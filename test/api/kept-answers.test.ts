/** Answers that clients ask to keep, over the stock client: found, changed, rated, searched and deleted, and nothing without. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ask as send } from '../client.ts';
import { searchFolder } from '../hub/canaries.ts';
import { endAll, startService, type TestService, temporaryFolder } from '../service.ts';
import { saying, storeModel } from '../stored-model.ts';

const dataDir = temporaryFolder();
let service: TestService;
let client: OpenAI;
const database = join(dataDir, 'answers', 'answers.sqlite');

const mainKey = 'of-the-environment-and-long-enough';
const start = async (args: string[] = [], env: NodeJS.ProcessEnv = {}) => {
  service = await startService({ dataDir, args, env });
  client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: mainKey, maxRetries: 0 });
};
test.before(async () => {
  storeModel(dataDir, 'tiny', undefined, { context: 512 });
  storeModel(dataDir, 'other', undefined, { context: 512 });
  const chatTemplate = '{% for message in messages %}{{ message.content }}{% endfor %}#';
  storeModel(dataDir, 'ends', undefined, { layers: 1, chatTemplate, next: saying('abc') });
  await start();
});
test.after(endAll);

const messagesOf = (content: string) => [
  { role: 'system' as const, content: 'Answer in a word.' },
  { role: 'user' as const, content },
];
const ask = (content: string, more: object = {}) =>
  client.chat.completions.create({
    model: 'tiny',
    messages: messagesOf(content),
    max_tokens: 8,
    temperature: 0,
    store: true,
    ...more,
  });
const ids = (page: { readonly data: readonly { readonly id: string }[] }) => page.data.map(({ id }) => id);

test('without store, nothing that was asked is in the data directory', async () => {
  const secret = 'canaryPrompt0123456789';
  await ask(secret, { store: false });
  await ask(secret, { store: null });
  assert.is(existsSync(database), false);
  searchFolder(dataDir, [secret]);
  assert.equal((await client.chat.completions.list()).data, []);
});

test('an answer that is stored is found with its request, and its messages', async () => {
  const answered = await ask('Where is my parcel?', { metadata: { topic: 'shipping' }, seed: 7 });
  const { messages: sent } = { messages: messagesOf('Where is my parcel?') };
  const found = (await client.chat.completions.retrieve(answered.id)) as unknown as Record<string, unknown>;
  for (const key of ['choices', 'usage', 'created', 'model'] as const)
    assert.equal(found[key], answered[key], key);
  assert.equal([found.metadata, found.seed, found.temperature], [{ topic: 'shipping' }, 7, 0]);
  assert.equal(found.feedback, { rating: null, correction: null });
  assert.ok((found.milliseconds as number) > 0);
  const messages = await client.chat.completions.messages.list(answered.id);
  assert.equal(
    messages.data.map(({ role, content }) => ({ role, content })),
    sent,
  );
  const [first] = messages.data;
  const rest = await client.chat.completions.messages.list(answered.id, { after: first?.id ?? '' });
  assert.equal(ids(rest), [messages.data[1]?.id]);
  await client.chat.completions.delete(answered.id);
});

test('a stream is stored as the answer that it is', async () => {
  const stream = await client.chat.completions.create({
    model: 'tiny',
    messages: messagesOf('Say it in pieces.'),
    max_tokens: 8,
    temperature: 0,
    store: true,
    stream: true,
  });
  let [id, text] = ['', ''];
  for await (const piece of stream) {
    id = piece.id;
    text += piece.choices[0]?.delta.content ?? '';
  }
  const found = await client.chat.completions.retrieve(id);
  assert.is(found.choices[0]?.message.content, text);
  assert.is(found.object, 'chat.completion');
  await client.chat.completions.delete(id);
});

test('a response that says store is kept as a completion, and one that does not is not', async () => {
  const asked = { model: 'tiny', instructions: 'Be brief.', input: 'As a response', max_output_tokens: 4 };
  await client.responses.create(asked);
  const response = await client.responses.create({ ...asked, store: true, metadata: { from: 'responses' } });
  const [found, ...others] = (await client.chat.completions.list()).data;
  assert.equal([found?.id, others], [response.id, []]);
  assert.is(found?.choices[0]?.message.content ?? '', response.output_text);
  assert.is(found?.usage?.total_tokens, response.usage?.total_tokens);
  const messages = await client.chat.completions.messages.list(response.id);
  assert.equal(
    messages.data.map(({ role, content }) => [role, content]),
    [
      ['system', 'Be brief.'],
      ['user', 'As a response'],
    ],
  );
  await client.chat.completions.delete(response.id);
});

test('stored answers are listed in pages, by model, metadata, rating and words', async () => {
  const made: string[] = [];
  for (const [index, topic] of ['shipping', 'billing', 'shipping'].entries())
    made.push((await ask(`Question ${index} of Müller`, { metadata: { topic } })).id);
  made.push((await ask('Something else', { model: 'other' })).id);
  const [one, two, three, four] = made as [string, string, string, string];

  const page = await client.chat.completions.list({ limit: 3 });
  assert.equal(ids(page), [one, two, three]);
  assert.equal(ids(await page.getNextPage()), [four]);
  assert.equal(ids(await client.chat.completions.list({ order: 'desc', limit: 1 })), [four]);
  assert.equal(ids(await client.chat.completions.list({ model: 'other' })), [four]);
  const of = async (metadata: Record<string, string>) =>
    ids(await client.chat.completions.list({ metadata }));
  assert.equal(await of({ topic: 'shipping' }), [one, three]);
  await client.chat.completions.update(four, {
    metadata: { a: ',"topic":"shipping"', 'x"topic': 'shipping' },
  });
  assert.equal(await of({ topic: 'shipping' }), [one, three]);
  assert.equal(await of({ 'x"topic': 'shipping', a: ',"topic":"shipping"' }), [four]);

  const search = async (text: string) =>
    ids((await service.call('GET', `/v1/chat/completions?search=${encodeURIComponent(text)}`)).body);
  assert.equal(await search('MÜLLER quest'), [one, two, three]);
  assert.equal(await search('"2" OR (else'), [], 'words alone, no syntax');
  assert.equal(await search('**'), []);

  const rate = (id: string, body: object) =>
    service.call('POST', `/v1/chat/completions/${id}/feedback`, body);
  assert.equal((await rate(one, { rating: 'up' })).body.feedback, { rating: 'up', correction: null });
  assert.equal((await rate(two, { rating: 'down', correction: 'Right' })).body.feedback, {
    rating: 'down',
    correction: 'Right',
  });
  const rated = async (rating: string) =>
    ids((await service.call('GET', `/v1/chat/completions?rating=${rating}`)).body);
  assert.equal([await rated('up'), await rated('any')], [[one], [one, two]]);
  // What is not named stays, and null takes it back.
  assert.equal((await rate(two, { correction: 'Better' })).body.feedback.rating, 'down');
  assert.equal((await rate(two, { rating: null })).body.feedback, { rating: null, correction: 'Better' });

  assert.equal([await rated('none'), await rated('corrected')], [[two, three, four], [two]]);

  const changed = await client.chat.completions.update(one, { metadata: { topic: 'returns' } });
  assert.equal((changed as unknown as { metadata: object }).metadata, { topic: 'returns' });
});

test('the page lists kept answers with what was asked, counts them, and shows one with its conversation', async () => {
  const get = async (path: string) => (await service.call('GET', `/api/traffic${path}`)).body;
  const { answers, has_more: hasMore } = await get('?limit=3');
  assert.is(hasMore, true);
  const questions = answers.map(({ question }: { question: string }) => question);
  assert.equal(questions, ['Something else', 'Question 2 of Müller', 'Question 1 of Müller']);
  const rest = await get(`?limit=3&after=${answers[2].id}`);
  assert.equal([rest.has_more, rest.answers.length, rest.answers[0].rating], [false, 1, 'up']);
  assert.equal([answers[2].rating, answers[2].corrected, answers[1].corrected], [null, true, false]);
  for (const [query, count] of [
    ['search=müller&rating=none', 2],
    ['rating=corrected', 1],
    ['model=other', 1],
    ['model=other&rating=any', 0],
  ])
    assert.is((await get(`?${query}`)).answers.length, count, `${query}`);
  assert.is((await service.call('GET', '/api/traffic?after=gone')).status, 400);

  const facets = await get('/facets');
  assert.equal([facets.answers, facets.days, facets.limit_bytes], [4, 30, 2 ** 30]);
  assert.equal(facets.models, [
    { value: 'tiny', count: 3 },
    { value: 'other', count: 1 },
  ]);
  assert.ok(facets.size_bytes > 500);

  const shown = await get(`/${answers[2].id}`);
  assert.equal(
    shown.messages.map(({ role, content }: { role: string; content: string }) => [role, content]),
    [
      ['system', 'Answer in a word.'],
      ['user', 'Question 1 of Müller'],
    ],
  );
  const said = await client.chat.completions.retrieve(answers[2].id);
  assert.equal([shown.answer.content, shown.key], [said.choices[0]?.message.content, null]);
  assert.equal([shown.correction, shown.request.temperature, shown.metadata.topic], ['Better', 0, 'billing']);
  assert.is((await service.call('GET', '/api/traffic/gone')).status, 404);

  // The rows that answers would make are counted, of those that are chosen.
  const count = async (body: object) => (await service.call('POST', '/api/traffic/rows', body)).body;
  const { rows, skipped } = await count({ kind: 'kto' });
  assert.equal([rows, skipped.unrated, skipped.cut_off], [0, 3, 1]);
  const ofTwo = { kind: 'preference', ids: [answers[1].id, answers[2].id] };
  const counted = await count(ofTwo);
  assert.equal([counted.rows, counted.skipped.no_correction], [1, 1]);
  const made = await service.call('POST', '/api/datasets/chosen.jsonl/answers', ofTwo);
  assert.equal([made.body.added, made.body.skipped], [1, counted.skipped]);
  assert.is((await service.call('POST', '/api/traffic/rows', { kind: 'sft', ids: {} })).status, 400);
});

test('stored answers survive the end of the service, and deleted ones leave nothing', async () => {
  const kept = ids(await client.chat.completions.list());
  const secret = 'canaryAnswer9876543210';
  const { id } = await ask(secret);
  await service.end();
  assert.ok(readFileSync(database).includes(secret));
  await start();
  assert.equal(ids(await client.chat.completions.list()), [...kept, id]);
  assert.equal(await client.chat.completions.delete(id), {
    id,
    object: 'chat.completion.deleted',
    deleted: true,
  });
  searchFolder(dataDir, [secret]);
  for (const asked of [
    service.call('GET', `/v1/chat/completions/${id}`),
    service.call('GET', `/v1/chat/completions/${id}/messages`),
    service.call('DELETE', `/v1/chat/completions/${id}`),
    service.call('POST', `/v1/chat/completions/${id}/feedback`, { correction: 'Too late' }),
  ]) {
    const { status, body } = await asked;
    assert.is(status, 404);
    assert.match(body.error.message, id);
  }
});

test('rows are made of kept answers and corrections, each once, with where they come from', async () => {
  const make = (name: string, body: object) => service.call('POST', `/api/datasets/${name}/answers`, body);
  const rowsOf = async (name: string) =>
    (await service.call('GET', `/api/datasets/${name}/file`)).body
      .trim()
      .split('\n')
      .map((line: string) => JSON.parse(line));
  const metadata = { batch: 'rows' };
  const made: string[] = [];
  for (let index = 0; index < 10; index += 1) {
    const answered = await ask(`Row ${index}`, { metadata });
    made.push(answered.id);
    const feedback = index < 8 ? { rating: 'down', correction: `Right ${index}` } : { rating: 'down' };
    await service.call('POST', `/v1/chat/completions/${answered.id}/feedback`, feedback);
  }
  const again = await ask('Row 0', { metadata });
  await service.call('POST', `/v1/chat/completions/${again.id}/feedback`, { correction: 'Right 0' });

  const preference = await make('wishes.jsonl', { kind: 'preference', metadata });
  assert.is(preference.status, 200, JSON.stringify(preference.body));
  const skipped = {
    no_correction: 2,
    unrated: 0,
    rated_down: 0,
    cut_off: 0,
    no_text: 0,
    duplicate: 1,
    near_duplicate: 0,
    overlap: 0,
  };
  assert.equal([preference.body.added, preference.body.skipped], [8, skipped]);
  const [first] = await rowsOf('wishes.jsonl');
  const said = (await client.chat.completions.retrieve(made[0] as string)).choices[0]?.message.content;
  assert.equal(first, {
    prompt: messagesOf('Row 0'),
    chosen: [{ role: 'assistant', content: 'Right 0' }],
    rejected: [{ role: 'assistant', content: said }],
    completion_id: made[0],
    model: 'tiny',
  });

  const sft = await make('learn.jsonl', { kind: 'sft', metadata });
  assert.equal([sft.body.added, sft.body.skipped.rated_down, sft.body.skipped.duplicate], [8, 2, 1]);
  assert.equal((await rowsOf('learn.jsonl'))[1].messages.at(-1), { role: 'assistant', content: 'Right 1' });
  const good = await ask('Row 10', { metadata, model: 'ends' });
  for (const id of [made[9], good.id])
    await service.call('POST', `/v1/chat/completions/${id}/feedback`, { rating: 'up' });
  const kto = await make('thumbs.jsonl', { kind: 'kto', metadata });
  assert.is(kto.status, 200, JSON.stringify(kto.body));
  assert.equal([kto.body.added, kto.body.skipped.unrated, kto.body.skipped.cut_off], [10, 1, 1]);
  const labelled = (await rowsOf('thumbs.jsonl')) as {
    prompt: unknown;
    completion: unknown;
    label: boolean;
  }[];
  assert.equal(labelled.map(({ label }) => label).indexOf(true), 9);
  assert.equal([labelled[0]?.prompt, labelled[0]?.completion], [first.prompt, first.rejected]);
  assert.ok((await service.call('GET', '/api/datasets/thumbs.jsonl')).body.validation.valid);
  await client.chat.completions.delete(good.id);
  await service.call('POST', `/v1/chat/completions/${made[9]}/feedback`, { rating: 'down' });
  // Added once more, and to rows of another shape.
  assert.is((await make('learn.jsonl', { kind: 'sft', metadata })).body.num_examples, 16);
  const { status, body } = await make('learn.jsonl', { kind: 'preference', metadata });
  assert.equal([status, (await rowsOf('learn.jsonl')).length], [400, 16], JSON.stringify(body));
  const { body: valid } = await service.call('GET', '/api/datasets/learn.jsonl');
  assert.equal([valid.validation.valid, valid.validation.shape], [true, 'messages']);

  for (const [wanted, words] of [
    [{ kind: 'preference', rating: 'up', metadata }, 'no kept answer matches'],
    [{ kind: 'sft', search: 'Row 9' }, '1 rated down and not corrected'],
    [{ kind: 'dpo' }, 'must be one of'],
  ] as const) {
    const refused = await make('none.jsonl', wanted);
    assert.is(refused.status, 400);
    assert.match(refused.body.detail, words);
  }
  assert.is((await service.call('GET', '/api/datasets/none.jsonl')).status, 404);
  for (const id of [...made, again.id]) await client.chat.completions.delete(id);
});

test('a key that records keeps answers without store, and a key for answers sees its own alone', async () => {
  const add = async (name: string, recording: boolean) => {
    const { body } = await service.call('POST', '/api/keys', { name, scope: 'inference', recording });
    assert.is(body.recording, recording);
    return { id: body.id, key: body.key };
  };
  const [one, two] = [await add('one', true), await add('two', false)];
  await service.end();
  await start(['--access', 'key'], { HONE_ACCESS_KEY: mainKey });
  const [ofOne, ofTwo] = [one, two].map(({ key }) => client.withOptions({ apiKey: key })) as [OpenAI, OpenAI];
  const request = { model: 'tiny', messages: messagesOf('Which key?'), max_tokens: 4 };
  const kept = await ofOne.chat.completions.create(request);
  await ofOne.chat.completions.create({ ...request, store: false });
  await ofTwo.chat.completions.create(request);
  const own = await ofTwo.chat.completions.create({ ...request, store: true });
  assert.equal(ids(await ofOne.chat.completions.list()), [kept.id]);
  assert.equal(ids(await ofTwo.chat.completions.list()), [own.id]);
  assert.equal(ids(await client.chat.completions.list({ order: 'desc', limit: 2 })), [own.id, kept.id]);
  const refused = await ofTwo.chat.completions.retrieve(kept.id).catch((error) => error.status);
  assert.is(refused, 404);

  const record = async (id: string, recording: boolean) => {
    const headers = { authorization: `Bearer ${mainKey}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ recording });
    return (await send(`${service.url}/api/keys/${id}`, 'PATCH', headers, body)).status;
  };
  assert.equal([await record(one.id, false), await record('00000000', true)], [200, 404]);
  await ofOne.chat.completions.create(request);
  assert.equal(ids(await ofOne.chat.completions.list()), [kept.id]);
  await service.end();
  await start();
});

test('bad input changes nothing and says what is wrong', async () => {
  const [first] = (await client.chat.completions.list()).data;
  for (const [path, body, word] of [
    [`/${first?.id}/feedback`, { rating: 'maybe' }, 'up or down'],
    [`/${first?.id}/feedback`, { correction: '' }, 'empty'],
    [`/${first?.id}`, { metadata: { a: 'x'.repeat(513) } }, '512'],
    [`/${first?.id}`, { metadata: [] }, 'object'],
  ] as const) {
    const { status, body: said } = await service.call('POST', `/v1/chat/completions${path}`, body);
    assert.is(status, 400);
    assert.match(said.error.message, word);
  }
  for (const query of ['limit=0', 'after=gone', 'rating=x', 'order=up', 'unknown=1', 'metadata[]=1'])
    assert.ok((await service.call('GET', `/v1/chat/completions?${query}`)).status >= 400, query);
});

test('rows are masked only where that is installed', async () => {
  const { status, body } = await service.call('POST', '/api/traffic/rows', { kind: 'sft', mask: true });
  assert.is(status, 409);
  assert.match(body.detail, 'Run "hone mask add" on the machine of the service.');
});

test.run();
