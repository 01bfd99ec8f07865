/** Models of other services: names, requests that are passed on, what is kept of them, and services that do not do as they should. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ask, type Json } from '../client.ts';
import { temporaryFolder } from '../folders.ts';
import { searchFolder } from '../hub/canaries.ts';
import { endAll, type InsideService, openInside } from '../inside-service.ts';
import { type RemoteService, startRemote } from '../remote-service.ts';
import { storeModel } from '../stored-model.ts';
import { type Description, readDescription } from './description.ts';

const key = 'sk-canaryRemote0123456789';
const limits = {
  remoteFirstByteMs: 1_500,
  remoteSilenceMs: 1_500,
  remoteAnswerBytes: 300_000,
  remoteAtOnce: 2,
};
let service: InsideService;
let description: Description;
let remote: RemoteService;
let client: OpenAI;

/** A request whose answer must be as the OpenAPI document says. */
async function call(method: string, path: string, body?: unknown) {
  const answer = await service.call(method, path, body);
  // What another service answers is not ours to describe.
  const isTheirs = `${method} ${path}` === 'POST /v1/chat/completions' && answer.status === 200;
  if (!isTheirs) description.check(method, path, answer);
  assert.not.match(JSON.stringify([answer.body, [...answer.headers]]), key);
  return answer;
}
const add = (name: string, more: object = {}) =>
  call('POST', '/api/remote_models', { name, url: remote.url, key, ...more });
const messages = [{ role: 'user' as const, content: 'Where is my parcel?' }];
const chat = (model: string, more: object = {}) =>
  call('POST', '/v1/chat/completions', { model, messages, ...more });
/** The events of a streamed answer. */
async function streamed(model: string, more: object = {}): Promise<Json[]> {
  const body = JSON.stringify({ model, messages, stream: true, ...more });
  const headers = { 'content-type': 'application/json' };
  const { status, bytes } = await ask(`${service.url}/v1/chat/completions`, 'POST', headers, body);
  assert.is(status, 200, bytes.toString());
  return bytes
    .toString()
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => (event === 'data: [DONE]' ? 'done' : JSON.parse(event.replace(/^data: /, ''))));
}
const keptIds = async (): Promise<string[]> =>
  (await call('GET', '/v1/chat/completions')).body.data.map(({ id }: Json) => id);

test.before(async () => {
  remote = await startRemote();
  const dataDir = temporaryFolder();
  storeModel(dataDir, 'trained');
  service = await openInside({ dataDir, limits });
  description = await readDescription(service);
  client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: 'sk-of-the-caller', maxRetries: 0 });
});
test.after(async () => {
  await endAll();
  remote.close();
});

test('a model of another service is added, listed and removed, and its key is never told', async () => {
  assert.equal((await call('GET', '/api/remote_models')).body, { remote_models: [] });
  const { created_at, ...added } = (await add('gpt', { url: ` ${remote.url}/ `, model: 'good' })).body;
  assert.equal(added, { name: 'gpt', url: remote.url, model: 'good', has_key: true });
  assert.equal((await call('GET', '/api/remote_models')).body.remote_models, [{ ...added, created_at }]);
  const path = join(service.dataDir, 'remote-models.json');
  assert.is(JSON.parse(readFileSync(path, 'utf8')).gpt.key, key);
  if (process.platform !== 'win32') assert.is(statSync(path).mode & 0o777, 0o600);
  assert.is((await add('bare', { key: undefined })).body.has_key, false);
  assert.is((await call('DELETE', '/api/remote_models/bare')).status, 200);
  assert.is((await call('DELETE', '/api/remote_models/bare')).status, 404);
  assert.is((await call('DELETE', '/api/remote_models/constructor')).status, 404);
});

test('a name that is taken is 409, and what is not valid 400', async () => {
  for (const name of ['gpt', 'trained']) assert.is((await add(name)).status, 409, name);
  for (const name of ['', '1', 'support@live', 'base:x', 'a/b', '-a', 'a'.repeat(65), null, 7])
    assert.is((await add(name as string)).status, 400, String(name));
  for (const url of [
    '',
    'here',
    'ftp://a.example',
    'https://me@a.example/v1',
    'https://a.example/v1?a=b',
    null,
  ])
    assert.is((await add('other', { url })).status, 400, String(url));
  for (const text of ['', 'two words', 'línea', 'x'.repeat(4097), 7, {}])
    assert.is((await add('other', { key: text })).status, 400, String(text));
  assert.is((await add('other', { more: 1 })).status, 400);
  assert.is((await call('GET', '/api/remote_models')).body.remote_models.length, 1);
});

test('an answer comes back as it was given, and only what is for the other service goes there', async () => {
  const sent = {
    ...{ model: 'gpt', max_tokens: 9, seed: 3, store: false, metadata: { topic: 'x' } },
    // What no model here takes.
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:,' } }] }],
    web_search_options: {},
  };
  const { body } = await call('POST', '/v1/chat/completions', sent);
  const { store: _, metadata: __, ...rest } = sent;
  const asked = remote.asked.at(-1);
  assert.equal(asked?.body, { ...rest, model: 'good' });
  assert.is(asked?.path, '/v1/chat/completions');
  assert.is(asked?.headers.authorization, `Bearer ${key}`);
  assert.match(body.id, /^chatcmpl-[0-9a-f]{32}$/);
  assert.equal([body.model, body.created, body.service_tier], ['gpt', 1_700_000_000, 'default']);
  assert.is(body.choices[0].message.content, 'We trace it – now.');
  assert.is(body.usage.prompt_tokens_details.audio_tokens, 0);
  assert.equal(await keptIds(), []);
});

test('the stock client is answered, in full and streamed, and its own key stays here', async () => {
  const whole = await client.chat.completions.create({ model: 'gpt', messages });
  assert.is(whole.choices[0]?.message.content, 'We trace it – now.');
  let text = '';
  const stream = await client.chat.completions.create({ model: 'gpt', messages, stream: true });
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? '';
    assert.is(chunk.model, 'gpt');
    assert.is.not(chunk.id, 'chatcmpl-of-the-remote');
    assert.is(chunk.usage, undefined);
  }
  assert.is(text, 'We trace it – now.');
  assert.not.match(JSON.stringify(remote.asked), 'sk-of-the-caller');
  const listed = await client.models.list();
  const { owned_by } = listed.data.find(({ id }) => id === 'gpt') ?? {};
  assert.is(owned_by, new URL(remote.url).host);
  assert.is((await client.models.retrieve('gpt')).owned_by, owned_by);
});

test('an answer that is kept has its tokens, its end and its calls, and rows are made of it', async () => {
  await add('caller', { model: 'calls' });
  const tools = [{ type: 'function' as const, function: { name: 'trace', parameters: { type: 'object' } } }];
  const whole = await client.chat.completions.create({
    ...{ model: 'gpt', messages, store: true, metadata: { topic: 'shipping' } },
  });
  const called = await client.chat.completions.create({ model: 'caller', messages, tools, store: true });
  assert.is(called.choices[0]?.finish_reason, 'tool_calls');
  let id = '';
  for (const model of ['gpt', 'caller']) {
    const stream = await client.chat.completions.create({
      model,
      messages,
      tools,
      store: true,
      stream: true,
    });
    for await (const chunk of stream) {
      id = chunk.id;
      assert.is(chunk.usage, undefined, 'the usage, which was not asked for');
      assert.ok(chunk.choices.length > 0);
    }
  }
  const found = (await call('GET', `/v1/chat/completions/${whole.id}`)).body;
  assert.equal(found.choices[0].message, { role: 'assistant', content: 'We trace it – now.', refusal: null });
  assert.equal(
    [found.model, found.metadata, found.choices[0].finish_reason],
    ['gpt', { topic: 'shipping' }, 'stop'],
  );
  assert.equal(found.usage, {
    ...{ prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 },
    prompt_tokens_details: { cached_tokens: 3 },
  });
  const of = async (one: string) => (await call('GET', `/v1/chat/completions/${one}`)).body.choices;
  assert.equal(await of(id), await of(called.id), 'streamed and in full');
  const ids = await keptIds();
  assert.is(ids.length, 4);
  const streamedTokens = (await call('GET', `/api/traffic/${ids[2]}`)).body;
  assert.equal([streamedTokens.prompt_tokens, streamedTokens.answer_tokens], [11, 4]);
  assert.is((await call('GET', `/api/traffic/${called.id}`)).body.answer.calls[0].name, 'trace');

  await service.upload(
    'rows.jsonl',
    `${JSON.stringify({ messages: [...messages, { role: 'assistant', content: 'Here.' }] })}\n`,
  );
  const rows = await call('POST', '/api/datasets/rows.jsonl/answers', { kind: 'sft', ids });
  assert.is(rows.status, 200, JSON.stringify(rows.body));
  const text = readFileSync(join(service.dataDir, 'datasets', 'rows.jsonl'), 'utf8');
  const last = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.ok(
    last.some(({ messages: said }) => said.at(-1).content === 'We trace it – now.'),
    text,
  );
  assert.ok(
    last.some(({ messages: said }) => said.at(-1).tool_calls?.[0].function.name === 'trace'),
    text,
  );
});

test('usage that was asked for is streamed, also of an answer that is kept', async () => {
  const events = await streamed('gpt', { stream_options: { include_usage: true }, store: true });
  assert.is(events.at(-1), 'done');
  assert.is(events.at(-2).usage.completion_tokens, 4);
});

test('an answer in another form is streamed as it is, and kept as others are', async () => {
  await add('unusual');
  const events = await streamed('unusual', { store: true });
  assert.is(events.at(-1), 'done');
  assert.is(events[0].choices[0].delta.content[1].text, 'We ');
  const { choices, usage } = (await call('GET', `/v1/chat/completions/${events[0].id}`)).body;
  assert.is(choices[0].message.content, 'We trace.');
  assert.equal(
    choices[0].message.tool_calls.map(({ id }: Json) => id),
    ['call_A1', 'call_B2'],
  );
  assert.is(usage, null);
});

test('an answer without what is usual is kept as it is', async () => {
  await add('bare');
  const { body } = await chat('bare', { store: true });
  assert.equal(body, { choices: [{ message: { content: 'Yes.' } }], id: body.id, model: 'bare' });
  const { body: found } = await call('GET', `/v1/chat/completions/${body.id}`);
  assert.equal([found.usage, found.choices[0].finish_reason], [null, null]);
  assert.is((await call('GET', `/api/traffic/${body.id}`)).body.answer.content, 'Yes.');
});

/** What a client is told where a service does not do as it should. */
const troubles: [model: string, status: number, message: RegExp, code?: string | null, param?: string][] = [
  ['garbage', 502, /garbage at http.* answered with what is no chat completion\. Check that its URL/],
  ['no-completion', 502, /what is no chat completion/],
  ['error-200', 502, /It says: No capacity\./],
  ['refuses', 502, /refused the stored key \(401\)\. Remove refuses and add it again/],
  ['rate-limited', 429, /^Slow down\.$/, 'insufficient_quota'],
  ['bad-request', 400, /^max_tokens is too large for Bearer <API key>$/, 'too_large', 'max_tokens'],
  ['no-model', 404, /^model "x" not found, try pulling it first$/, null],
  ['overloaded', 502, /answered 503\. It says: Overloaded\./],
  ['redirects', 502, /redirects elsewhere \(307\)/],
  ['huge', 502, /more than 300000 bytes/],
  ['waits', 502, /did not answer for 1\.5 s/],
  ['breaks-off', 502, /broke off its answer/],
];
for (const [model, status, message, code, param] of troubles) {
  test(`a service that ${model}: ${status}`, async () => {
    await add(model);
    const before = await keptIds();
    const { status: got, body, headers } = await chat(model, { store: true });
    assert.is(got, status, JSON.stringify(body));
    assert.match(body.error.message, message);
    if (code !== undefined) assert.is(body.error.code, code);
    assert.is(body.error.param, param ?? null);
    assert.is(headers.get('retry-after'), status === 429 ? '7' : null);
    assert.equal(await keptIds(), before);
  });
}

test('a service that cannot be reached, and one that asks for a key', async () => {
  await add('nowhere', { url: 'http://127.0.0.1:9/v1' });
  const { status, body } = await chat('nowhere');
  assert.is(status, 502);
  assert.match(
    body.error.message,
    /^nowhere at http:\/\/127\.0\.0\.1:9\/v1 cannot be reached \(.+\)\. Check that/,
  );
  await add('keyless', { model: 'refuses', key: null });
  assert.match((await chat('keyless')).body.error.message, /asks for a key \(401\)/);
  assert.is(remote.asked.at(-1)?.headers.authorization, undefined);
});

test('a key is told to no other server by a redirect', async () => {
  const other = await startRemote();
  try {
    // The first one redirects to where the second one would answer.
    remote.redirectsTo = `${other.url}/chat/completions`;
    const { status } = await chat('redirects');
    assert.is(status, 502);
    assert.equal(other.asked, []);
  } finally {
    other.close();
  }
});

test('a stream that fails says so in an event, ends, and is not kept', async () => {
  const before = await keptIds();
  const late: [string, RegExp][] = [
    ['breaks-off', /broke off its answer/],
    ['unfinished', /broke off its answer/],
    ['fails-late', /It says: Overloaded\./],
    ['garbage-late', /no chunk of an answer/],
    ['waits', /did not answer for 1\.5 s/],
    ['huge', /more than 300000 bytes/],
  ];
  for (const [model, message] of late) {
    const { remote_models: known } = (await call('GET', '/api/remote_models')).body;
    if (!known.some(({ name }: Json) => name === model)) await add(model);
    const events = await streamed(model, { store: true });
    assert.match(events[0].choices[0].delta.content, /^(We tr|a)$/);
    assert.match(events.at(-1).error?.message ?? '', message, model);
  }
  for (const model of ['garbage', 'overloaded', 'good']) {
    if (model === 'good') await add('no-stream', { model: 'bare' });
    const { status, body } = await chat(model === 'good' ? 'no-stream' : model, { stream: true });
    assert.is(status, 502, JSON.stringify(body));
  }
  assert.equal(await keptIds(), before);
});

test('the request to the other service ends with the client, and no more are made than at once', async () => {
  const controllers = [new AbortController(), new AbortController()];
  const open = controllers.map(({ signal }) =>
    client.chat.completions.create({ model: 'waits', messages, stream: true }, { signal }),
  );
  const streams = await Promise.all(open);
  const readers = streams.map((stream) => stream[Symbol.asyncIterator]());
  for (const reader of readers) await reader.next();
  const refused = await chat('gpt');
  assert.is(refused.status, 429, JSON.stringify(refused.body));
  assert.is(refused.headers.get('retry-after'), '1');
  for (const controller of controllers) controller.abort();
  assert.is(await remote.left(), false);
  while ((await chat('gpt')).status === 429);
});

test('only chat completions are passed on, with fields that can be kept', async () => {
  const { asked } = remote;
  const before = asked.length;
  for (const [path, more] of [
    ['/v1/completions', { prompt: 'a' }],
    ['/v1/embeddings', { input: 'a' }],
    ['/v1/responses', { input: 'a' }],
  ] as const) {
    const { status, body } = await call('POST', path, { model: 'gpt', ...more });
    assert.is(status, 400);
    assert.match(body.error.message, /asked with POST \/v1\/chat\/completions alone/);
  }
  for (const more of [
    ...[{ messages: [] }, { messages: 'a' }, { messages: [7] }, { messages: [[]] }, { messages: undefined }],
    ...[{ messages: [{ role: 'user', content: 7 }] }, { messages: [{ content: 'a' }] }],
    ...[{ metadata: { a: 1 } }, { metadata: [] }, { store: 'yes' }, { stream: 1 }, { stream_options: [] }],
    ...[{ temperature: 'hot' }, { tools: {} }, { tools: [[]] }],
  ])
    assert.is((await chat('gpt', more)).status, 400, JSON.stringify(more));
  assert.is(asked.length, before);
});

test('an alias stands for it, is split, and moves on', async () => {
  const { body } = await call('POST', '/api/aliases', { name: 'support@live', model: 'gpt' });
  assert.is(body.model, 'gpt');
  const answered = (await chat('support@live', { store: true })).body;
  assert.equal([answered.model, answered.choices[0].message.content], ['support@live', 'We trace it – now.']);
  assert.is((await call('GET', '/v1/models/support@live')).body.owned_by, 'hone');
  const listed = (await call('GET', '/v1/models')).body.data.map(({ id }: Json) => id);
  assert.ok(listed.includes('support@live'), listed.join());
  const elsewhere = await call('POST', '/v1/responses', { model: 'support@live', input: 'a' });
  assert.match(elsewhere.body.error.message, /support@live is a model of another service/);
  assert.is(
    (await call('POST', '/api/aliases/support@live/split', { model: 'gpt', percent: 9 })).status,
    400,
  );
  // Every conversation goes to one of the two, whatever the order of the fields of a part.
  const split = await call('POST', '/api/aliases/support@live/split', { model: 'bare', percent: 50 });
  assert.is(split.body.split.model, 'bare');
  const said = new Set<string>();
  for (let index = 0; index < 20; index += 1) {
    const content = [{ text: `Question ${index}`, type: 'text' }];
    const { status, body: one } = await chat('support@live', {
      messages: [{ role: 'user', content }],
      store: true,
    });
    assert.is(status, 200);
    said.add(one.choices[0].message.content);
  }
  assert.equal([...said].sort(), ['We trace it – now.', 'Yes.']);
  const [{ split: sides }] = (await call('GET', '/api/aliases')).body.aliases;
  assert.ok(sides.current.answers + sides.candidate.answers >= 20, JSON.stringify(sides));
  assert.ok(sides.candidate.answers > 0);
  assert.is(
    (await call('POST', '/api/aliases', { name: 'support@live', model: 'trained' })).body.model,
    'trained',
  );
  assert.is((await call('POST', '/api/aliases/support@live/undo')).body.model, 'gpt');
  await add('short-lived', { model: 'good' });
  await call('POST', '/api/aliases', { name: 'support@live', model: 'short-lived' });
  await call('DELETE', '/api/remote_models/short-lived');
  const gone = await chat('support@live');
  assert.is(gone.status, 404);
  assert.match(gone.body.error.message, /was deleted\. Move the alias/);
  assert.is((await call('DELETE', '/api/aliases/support@live')).status, 200);
});

test('a key for answers asks it, and its answers are kept if the key says so; others add no URL', async () => {
  const { body: made } = await service.call('POST', '/api/keys', {
    ...{ name: 'app', scope: 'inference', recording: true },
  });
  const elsewhere = (method: string, path: string, body: object) =>
    ask(
      service.url + path,
      method,
      {
        ...{ authorization: `Bearer ${made.key}`, 'x-forwarded-for': '192.0.2.1' },
        'content-type': 'application/json',
      },
      JSON.stringify(body),
    );
  const { status, bytes } = await elsewhere('POST', '/v1/chat/completions', { model: 'gpt', messages });
  assert.is(status, 200, bytes.toString());
  const { id } = JSON.parse(bytes.toString());
  assert.is((await call('GET', `/api/traffic/${id}`)).body.key.name, 'app');
  assert.not.match(JSON.stringify(remote.asked), made.key);
  const { body: full } = await service.call('POST', '/api/keys', { name: 'elsewhere' });
  made.key = full.key;
  assert.is((await elsewhere('POST', '/api/remote_models', { name: 'x', url: remote.url })).status, 403);
});

test('names stay after a restart, the key is in its file alone, and a damaged file leaves the rest working', async () => {
  const { dataDir } = service;
  await service.end();
  service = await openInside({ dataDir, limits });
  assert.is((await chat('gpt')).status, 200);
  await call('DELETE', '/api/remote_models/gpt');
  const path = join(dataDir, 'remote-models.json');
  const text = readFileSync(path, 'utf8');
  assert.match(text, key);
  writeFileSync(path, '{');
  await service.end();
  searchFolder(dataDir, [key]);
  service = await openInside({ dataDir, limits });
  const { status, body } = await call('GET', '/api/remote_models');
  assert.is(status, 409);
  assert.match(body.detail, /mend or delete it/);
  assert.equal(
    (await call('GET', '/v1/models')).body.data.map(({ id }: Json) => id),
    ['trained'],
  );
  assert.is((await chat('gpt')).status, 404);
});

test.run();
