import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import OpenAI from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  quickRequest,
  root,
  startService,
  supportRows,
  type TestService,
  tinyModel,
  untilEnded,
} from '../service.ts';

let service: TestService;
let client: OpenAI;
let name = '';

test.before(async () => {
  service = await startService({ warm: true });
  await service.upload('support.jsonl', supportRows());
  await service.call(
    'POST',
    '/api/start_training',
    quickRequest({ model_name: tinyModel('qwen3', 'chatml'), max_steps: 4 }),
  );
  assert.is((await untilEnded(service)).status, 'completed');
  client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: 'none', maxRetries: 0 });
  name = (await client.models.list()).data[0]?.id ?? '';
  short = { model: name, messages: question, max_tokens: 2 };
  shortText = { model: name, prompt: 'Hello', max_tokens: 2 };
});
test.after(endAll);

let short: { model: string; messages: typeof question; max_tokens: number };
let shortText: { model: string; prompt: string; max_tokens: number };
const question = [{ role: 'user' as const, content: 'My parcel has not come.' }];

/** The usage without what depends on the request before. */
const counts = (usage: OpenAI.CompletionUsage | null | undefined) => ({
  ...usage,
  prompt_tokens_details: null,
});
const refusal = async (call: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> => {
  const error = await call.then(
    () => null,
    (thrown) => thrown,
  );
  assert.instance(error, OpenAI.BadRequestError);
  return error;
};

test('the stock client lists the model and finds it by name and by either id', async () => {
  assert.ok(name);
  assert.is((await client.models.retrieve(name)).id, name);
  const [model] = (await service.call('GET', '/api/models/')).body;
  assert.is((await client.models.retrieve(model.model_id)).id, name);
  assert.is((await client.models.retrieve('1')).id, name);
});

test('the base is asked as_base, streamed, and says what the base route says', async () => {
  const [model] = (await service.call('GET', '/api/models/')).body;
  const whole = await service.call('POST', '/api/playground/base', {
    model_id: model.model_id,
    prompt: question[0]?.content,
    max_length: 12,
    temperature: 0,
  });
  assert.is(whole.status, 200);
  const options = { model: name, messages: question, temperature: 0, max_tokens: 12, as_base: true };
  let pieces = 0;
  let streamed = '';
  for await (const chunk of await client.chat.completions.create({ ...options, stream: true as const })) {
    const text = chunk.choices[0]?.delta.content ?? '';
    if (text !== '') pieces += 1;
    streamed += text;
  }
  assert.is(streamed, whole.body.generated_text);
  assert.ok(pieces > 1, `${pieces} pieces`);
});

test('whole and streamed answers are the same text, with exact usage', async () => {
  const options = { model: name, messages: question, temperature: 0, max_tokens: 12 };
  const whole = await client.chat.completions.create(options);
  const text = whole.choices[0]?.message.content ?? '';
  assert.is(whole.object, 'chat.completion');
  assert.is(
    whole.usage?.total_tokens,
    (whole.usage?.prompt_tokens ?? 0) + (whole.usage?.completion_tokens ?? 0),
  );
  assert.ok(['stop', 'length'].includes(whole.choices[0]?.finish_reason ?? ''));
  let streamed = '';
  let usage: OpenAI.CompletionUsage | null = null;
  let finish = null;
  for await (const chunk of await client.chat.completions.create({
    ...options,
    stream: true,
    stream_options: { include_usage: true },
  })) {
    streamed += chunk.choices[0]?.delta.content ?? '';
    finish ??= chunk.choices[0]?.finish_reason ?? null;
    usage = chunk.usage ?? usage;
  }
  assert.is(streamed, text);
  assert.is(finish, whole.choices[0]?.finish_reason);
  assert.equal(counts(usage), counts(whole.usage));
  const long = {
    ...short,
    messages: [{ role: 'user' as const, content: 'Where is my parcel? '.repeat(12) }],
  };
  await client.chat.completions.create(long);
  const again = await client.chat.completions.create(long);
  // Of the same prompt, only the last token is evaluated again.
  assert.is(again.usage?.prompt_tokens_details?.cached_tokens, (again.usage?.prompt_tokens ?? 0) - 1);
  const [model] = (await service.call('GET', '/api/models/')).body;
  const playground = await service.call('POST', '/api/playground/new', {
    model_id: model.model_id,
    prompt: question[0]?.content,
    temperature: 0,
    max_length: 12,
  });
  assert.is(playground.body.generated_text, text, 'the playground gives the same answer');
});

test('a seed repeats a sampled answer, max_tokens bounds it, stop ends it', async () => {
  const options = { model: name, messages: question, temperature: 1.5, max_tokens: 16, seed: 7 };
  const answers = await Promise.all([
    client.chat.completions.create(options),
    client.chat.completions.create(options),
  ]);
  assert.is(answers[0]?.choices[0]?.message.content, answers[1]?.choices[0]?.message.content);
  const short = await client.completions.create({
    model: name,
    prompt: 'Hello',
    max_tokens: 3,
    temperature: 0,
  });
  assert.ok((short.usage?.completion_tokens ?? 9) <= 3);
  const long = await client.completions.create({
    model: name,
    prompt: 'Hello',
    max_tokens: 40,
    temperature: 0,
  });
  const text = long.choices[0]?.text ?? '';
  const stop = text.slice(3, 6);
  const cut = await client.completions.create({
    model: name,
    prompt: 'Hello',
    max_tokens: 40,
    temperature: 0,
    stop: [stop],
  });
  assert.is(cut.choices[0]?.text, text.slice(0, text.indexOf(stop)));
  assert.is((cut.choices[0] as { stop_reason?: string }).stop_reason, stop);
  assert.not('stop_reason' in (long.choices[0] ?? {}), 'the limit ended it');
});

test('an answer that has begun goes on from its text', async () => {
  const ask = async (more: object) => {
    const options = { model: name, messages: question, temperature: 0, ...more };
    return client.chat.completions.create(options as OpenAI.ChatCompletionCreateParamsNonStreaming);
  };
  const begun = (content: string) => ({
    messages: [...question, { role: 'assistant', content }],
    continue_final_message: true,
  });
  const prompt = (await ask({ max_tokens: 1 })).usage?.prompt_tokens ?? 0;
  const short = await ask({ ...begun('team'), max_tokens: 1 });
  const longer = await ask({ ...begun('team: billing'), max_tokens: 4 });
  assert.is(short.usage?.prompt_tokens, prompt + 1, 'neither the end of a turn nor another beginning');
  assert.ok((longer.usage?.prompt_tokens ?? 0) > prompt + 1);
  assert.ok(longer.choices[0]?.message.content, 'it goes on');
  for (const [more, param] of [
    [{ continue_final_message: true }, 'continue_final_message'],
    [begun(''), 'continue_final_message'],
    [{ ...begun('{'), response_format: { type: 'json_object' } }, 'response_format'],
    [{ ...begun('a'), continue_final_message: 'yes' }, 'continue_final_message'],
  ] as const)
    assert.is((await refusal(ask(more))).param, param);
});

test('text completions take lists of prompts and token IDs, and repeat and rate them', async () => {
  const ask = (more: object) =>
    client.completions.create({
      ...{ model: name, prompt: 'Hello', max_tokens: 4, temperature: 0, ...more },
    } as OpenAI.CompletionCreateParamsNonStreaming);
  const prompts = ['Hello', 'My parcel', ...Array.from({ length: 10 }, (_, index) => `Order ${index}`)];
  const alone = await Promise.all(prompts.slice(0, 2).map((prompt) => ask({ prompt })));
  const [first, second] = alone.map(({ choices }) => choices[0]?.text);
  const list = await ask({ prompt: prompts, n: 2 });
  assert.equal(
    list.choices.map(({ index }) => index),
    prompts.flatMap((_, index) => [2 * index, 2 * index + 1]),
  );
  assert.equal(
    list.choices.slice(0, 4).map(({ text }) => text),
    [first, first, second, second],
  );
  const counted = alone.reduce((sum, { usage }) => sum + (usage?.prompt_tokens ?? 0), 0);
  assert.is((await ask({ prompt: prompts.slice(0, 2) })).usage?.prompt_tokens, counted);

  // What evaluation programs send: the log-probabilities of a text are those of the tokens of a prompt.
  const echoed = await ask({ echo: true, logprobs: 1 });
  const [choice] = echoed.choices;
  assert.is(choice?.text, `Hello${first}`);
  const { token_logprobs: rated = [], top_logprobs: top = [], text_offset: offsets } = choice?.logprobs ?? {};
  assert.is(rated.length, echoed.usage?.total_tokens);
  assert.equal([rated[0], top[0], offsets?.[0]], [null, null, 0]);
  assert.ok(rated.slice(1).every((value) => value !== null && value <= 0));
  const ids = await ask({ prompt: [[5, 6, 7], [8]], echo: true, logprobs: 0, max_tokens: 0 });
  assert.equal(
    ids.choices.map(({ logprobs }) => logprobs?.tokens?.length),
    [3, 1],
  );
  assert.equal([ids.usage?.prompt_tokens, ids.usage?.completion_tokens], [4, 0]);
  assert.is(ids.choices[0]?.finish_reason, 'length');
  let streamed = '';
  const stream = await client.completions.create({
    ...{ model: name, prompt: 'Hello', max_tokens: 4, temperature: 0, echo: true, stream: true },
  } as OpenAI.CompletionCreateParamsStreaming);
  for await (const chunk of stream) streamed += chunk.choices[0]?.text ?? '';
  assert.is(streamed, `Hello${first}`);
  for (const [more, param] of [
    [{ prompt: [] }, 'prompt'],
    [{ prompt: ['a', [1]] }, 'prompt'],
    [{ prompt: [[]] }, 'prompt.0'],
    [{ prompt: [-1] }, 'prompt.0'],
    [{ prompt: Array.from({ length: 129 }, () => 'a') }, 'prompt'],
    [{ prompt: [1_000_000_000] }, 'prompt'],
    [{ suffix: 'end' }, 'suffix'],
    [{ suffix: 'end', echo: true }, 'suffix'],
    [{ suffix: 'end', prompt: [5] }, 'suffix'],
    [{ max_tokens: -1 }, 'max_tokens'],
  ] as const)
    assert.is((await refusal(ask(more))).param, param, JSON.stringify(more).slice(0, 80));
});

test('errors are what the stock client expects', async () => {
  const missing = await client.chat.completions
    .create({ model: 'no-such', messages: question })
    .catch((error) => error);
  assert.instance(missing, OpenAI.NotFoundError);
  assert.is(missing.code, 'model_not_found');
  const bad = await client.chat.completions.create({ model: name, messages: [] }).catch((error) => error);
  assert.instance(bad, OpenAI.BadRequestError);
  assert.is(bad.param, 'messages');
  const long = await client.completions
    .create({ model: name, prompt: 'word '.repeat(5000), stream: true })
    .catch((error) => error);
  assert.instance(long, OpenAI.BadRequestError);
  assert.equal([long.code, long.param], ['context_length_exceeded', 'prompt']);
  assert.match(
    long.message,
    /This model's maximum context length is \d+ tokens\. However, your prompt resulted in \d+ tokens/,
  );
});

test('every answer has an id, and a wrong base URL is told', async () => {
  const { response } = await client.chat.completions.create(short).withResponse();
  assert.match(response.headers.get('x-request-id') ?? '', /^req_[0-9a-f]{32}$/);
  const streamed = await client.chat.completions.create({ ...short, stream: true }).withResponse();
  assert.match(streamed.response.headers.get('x-request-id') ?? '', /^req_/);
  streamed.data.controller.abort();

  const nowhere: unknown = await client.get('/nowhere').catch((thrown) => thrown);
  assert.instance(nowhere, OpenAI.NotFoundError);
  if (!(nowhere instanceof OpenAI.NotFoundError)) return;
  assert.match(nowhere.requestID ?? '', /^req_/);
  assert.equal([nowhere.type, nowhere.code], ['invalid_request_error', null]);
  assert.match(nowhere.message, '/v1/nowhere not found');

  const lost = new OpenAI({ baseURL: service.url, apiKey: 'none', maxRetries: 0 });
  for (const call of [lost.models.list(), lost.chat.completions.create(short)]) {
    const error = await call.then(String, (thrown: Error) => thrown);
    assert.instance(error, OpenAI.NotFoundError);
  }
  const told = await service.call('POST', '/chat/completions', {});
  assert.match(told.body.detail, 'The base URL of that API ends in /v1.');
  const page = await fetch(`${service.url}/models`, { headers: { accept: 'text/html' } });
  assert.match(page.headers.get('content-type') ?? '', 'text/html');
});

test('what would change the answer and is not supported is refused by name; null is not', async () => {
  const create = (more: object) => client.chat.completions.create({ ...short, ...more });
  const complete = (more: object) => client.completions.create({ ...shortText, ...more });
  const nothing = { tools: null, functions: null, audio: null, web_search_options: null, logit_bias: null };
  const harmless = {
    ...{ user: 'a', metadata: { a: 'b' }, store: false, service_tier: 'auto', tool_choice: 'none' },
    ...{ parallel_tool_calls: true, modalities: ['text'], safety_identifier: 'a', prompt_cache_key: 'a' },
    ...{ tools: [], functions: [], verbosity: 'low', top_k: 0, min_p: 0, repetition_penalty: 1 },
    ...{ ignore_eos: false, stop: Array.from({ length: 100 }, (_, at) => `end ${at}`) },
    ...{ response_format: { type: 'text' }, n: 1, presence_penalty: 0, logprobs: false },
  };
  await create({ ...nothing, ...harmless });
  const again = { role: 'assistant', content: 'Yes.', refusal: null, tool_calls: null, annotations: [] };
  await create({ messages: [...question, again, ...question] });
  await complete({ best_of: 1, echo: false, suffix: null });
  const tool = { type: 'function', function: { name: 'find' } };
  const refused: [call: typeof create | typeof complete, more: object, param: string, code: string | null][] =
    [
      [create, { tools: [tool] }, 'tools', null],
      [create, { functions: [{}] }, 'functions', 'unsupported_parameter'],
      [create, { tool_choice: 'required' }, 'tool_choice', null],
      [create, { modalities: ['text', 'audio'] }, 'modalities.1', 'unsupported_value'],
      [create, { store: 'yes' }, 'store', null],
      [create, { top_a: 40 }, 'top_a', 'unknown_parameter'],
      [create, { top_k: 1.5 }, 'top_k', null],
      [create, { min_p: 2 }, 'min_p', null],
      [create, { stop: Array(257).fill('a') }, 'stop', null],
      [create, { messages: [{ ...again, tool_calls: [{}] }] }, 'messages.0.tool_calls.0.id', null],
      [create, { n: 9 }, 'n', null],
      [create, { n: 8, max_tokens: 1_000_000 }, 'n', null],
      [create, { top_logprobs: 2 }, 'top_logprobs', null],
      [create, { presence_penalty: 3 }, 'presence_penalty', null],
      [create, { logit_bias: { word: 1 } }, 'logit_bias.word', null],
      [create, { response_format: { type: 'xml' } }, 'response_format.type', null],
      [complete, { best_of: 3 }, 'best_of', 'unsupported_value'],
      [complete, { logprobs: 6 }, 'logprobs', null],
    ];
  for (const [call, more, param, code] of refused) {
    const error = await refusal(call(more));
    assert.equal([error.param, error.code], [param, code], error.message);
  }
  const unknown = await refusal(create({ logit_bias: { 4000000000: 1 } }));
  assert.match(unknown.message, '4000000000');
});

test('an answer is JSON of a schema; what the grammar cannot express is told by its place', async () => {
  const schema = {
    type: 'object',
    properties: {
      urgent: { type: 'boolean' },
      about: { enum: ['billing', 'shipping'] },
    },
    required: ['urgent', 'about'],
    additionalProperties: false,
  };
  const ask = (json: object, more: object = {}) =>
    client.chat.completions.create({
      ...{ model: name, messages: question, max_tokens: 200, ...more },
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'ticket', strict: true, schema: { ...json } },
      },
    });
  for (const seed of [1, 2]) {
    const answer = await ask(schema, { temperature: 1.5, seed });
    const ticket = JSON.parse(answer.choices[0]?.message.content ?? '');
    assert.equal(Object.keys(ticket).sort(), ['about', 'urgent']);
    assert.type(ticket.urgent, 'boolean');
    assert.ok(['billing', 'shipping'].includes(ticket.about));
  }
  const held = {
    type: 'object',
    properties: {
      id: { type: 'string', pattern: '^[A-Z]{2}\\d$' },
      share: { type: 'number', minimum: 0, maximum: 1 },
      tags: { type: 'array', items: { type: 'integer', exclusiveMinimum: 9, maximum: 12 }, maxItems: 2 },
      since: { type: 'string', format: 'date' },
      next: { anyOf: [{ $ref: '#' }, { type: 'null' }] },
    },
    required: ['id', 'share', 'since'],
  };
  const { choices } = await ask(held, { temperature: 1.5, seed: 3, max_tokens: 400 });
  const { id, share, since, tags = [] } = JSON.parse(choices[0]?.message.content ?? '');
  assert.match(id, /^[A-Z]{2}\d$/);
  assert.ok(share >= 0 && share <= 1, share);
  assert.match(since, /^\d{4}-\d\d-\d\d$/);
  for (const tag of tags) assert.ok([10, 11, 12].includes(tag), tag);
  const place = 'response_format.json_schema.schema';
  const faulty = {
    ...schema,
    properties: { about: { type: 'string', pattern: '^(?=a)' }, urgent: { type: 'boolean' } },
  };
  const error = await refusal(ask(faulty));
  assert.is(error.param, `${place}.properties.about.pattern`);
  assert.match(error.message, '(?=a) has no grammar');
  const object = await client.chat.completions.create({
    ...short,
    response_format: { type: 'json_object' },
  });
  assert.match(object.choices[0]?.message.content ?? '', /^\s*\{/);
  const withSchema = { type: 'json_object' as const, schema };
  const beside = await client.chat.completions.create({
    ...short,
    max_tokens: 200,
    response_format: withSchema,
  });
  assert.equal(Object.keys(JSON.parse(beside.choices[0]?.message.content ?? '')), ['urgent', 'about']);
});

test('several answers have their index and seed, together and streamed; the prompt counts once', async () => {
  const options = { model: name, messages: question, temperature: 1.5, max_tokens: 10, seed: 3 };
  const one = await client.chat.completions.create(options);
  const all = await client.chat.completions.create({ ...options, n: 3 });
  const texts = all.choices.map(({ message }) => message.content);
  assert.equal(
    all.choices.map(({ index }) => index),
    [0, 1, 2],
  );
  assert.is(new Set(texts).size, 3);
  assert.is(all.usage?.prompt_tokens, one.usage?.prompt_tokens);
  assert.ok((all.usage?.completion_tokens ?? 0) > (one.usage?.completion_tokens ?? 0));
  const streamed = ['', '', ''];
  const ends: unknown[] = [];
  let usage: OpenAI.CompletionUsage | null = null;
  for await (const chunk of await client.chat.completions.create({
    ...options,
    ...{ n: 3, stream: true as const, stream_options: { include_usage: true } },
  })) {
    for (const { index, delta, finish_reason: end } of chunk.choices) {
      streamed[index] += delta.content ?? '';
      if (end) ends[index] = end;
    }
    usage = chunk.usage ?? usage;
  }
  assert.equal(streamed.map(Boolean), [true, true, true]);
  assert.is(ends.filter(Boolean).length, 3);
  assert.is(usage?.prompt_tokens, one.usage?.prompt_tokens);
  assert.ok((usage?.completion_tokens ?? 0) > 10);
});

test('the fingerprint says whether the same request gets the same answer again', async () => {
  const alone = { ...short, temperature: 0, cache: false };
  const fingerprints = async (...all: object[]) => {
    const made = all.map((one) => client.chat.completions.create({ ...alone, ...one }));
    return (await Promise.all(made)).map(({ system_fingerprint: found }) => found);
  };
  assert.equal(await fingerprints({}), ['hone']);
  assert.equal(await fingerprints({ cache: true }), ['hone-shared'], 'a part of the prompt was kept');
  // Long enough to meet, also on a busy machine.
  const several = { n: 8, max_tokens: 100, ignore_eos: true };
  assert.equal(await fingerprints(several), ['hone-shared'], 'others are answered in the same steps');
  const found: unknown[] = [];
  for await (const chunk of await client.chat.completions.create({ ...alone, stream: true })) {
    found.push(chunk.system_fingerprint);
  }
  assert.is(found.at(-1), 'hone');
});

test('log-probabilities are those of the tokens of the text, whole and streamed', async () => {
  const options = { ...short, max_tokens: 6, temperature: 0, logprobs: true, top_logprobs: 3 };
  const [choice] = (await client.chat.completions.create(options)).choices;
  const tokens = choice?.logprobs?.content ?? [];
  assert.ok(tokens.length > 0);
  const bytes = Buffer.from(tokens.flatMap((token) => token.bytes ?? []));
  assert.is(bytes.toString().trimStart(), choice?.message.content?.trimStart());
  for (const { token, logprob, top_logprobs: top } of tokens) {
    assert.is(top.length, 3);
    assert.equal([top[0]?.token, top[0]?.logprob], [token, logprob], 'the most likely token is taken');
    assert.ok(logprob <= 0 && (top[2]?.logprob ?? 0) <= (top[1]?.logprob ?? -9));
  }
  const streamed: unknown[] = [];
  for await (const { choices } of await client.chat.completions.create({ ...options, stream: true }))
    streamed.push(...(choices[0]?.logprobs?.content ?? []).map(({ token }) => token));
  assert.equal(
    streamed,
    tokens.map(({ token }) => token),
  );
  const plain = await client.completions.create({ ...shortText, max_tokens: 6, temperature: 0, logprobs: 2 });
  const [text] = plain.choices;
  const { logprobs } = text ?? {};
  assert.is(logprobs?.text_offset?.[0], 0);
  assert.is(logprobs?.tokens?.length, logprobs?.text_offset?.length);
  for (const [index, token] of (logprobs?.tokens ?? []).entries()) {
    assert.is(logprobs?.top_logprobs?.[index]?.[token], logprobs?.token_logprobs?.[index]);
    if (token.startsWith('bytes:')) continue;
    const at = logprobs?.text_offset?.[index] ?? -1;
    assert.is([...(text?.text ?? '')].slice(at, at + [...token].length).join(''), token);
  }
});

test('a bias chooses the tokens, and penalties keep an answer from repeating itself', async () => {
  const options = { ...shortText, max_tokens: 8, temperature: 0, logprobs: 0 };
  const tokensWith = async (more: object) =>
    (await client.completions.create({ ...options, ...more })).choices[0]?.logprobs?.tokens ?? [];
  const [first, other] = await Promise.all([300, 301].map((id) => tokensWith({ logit_bias: { [id]: 100 } })));
  for (const tokens of [first, other]) assert.equal(tokens, Array(8).fill(tokens?.[0]));
  assert.is.not(first?.[0], other?.[0]);
  // Three tokens are much likelier than all others; a penalty makes them take turns.
  const bias = { 300: 22, 301: 21, 302: 20 };
  assert.is(new Set(await tokensWith({ logit_bias: bias, presence_penalty: 0 })).size, 1);
  assert.ok(new Set(await tokensWith({ logit_bias: bias, frequency_penalty: 2 })).size > 1);
});

test('embeddings of texts and of tokens are of length 1; what is wrong is told by its index', async () => {
  const input = ['A parcel', 'Another one', 'A parcel'];
  const { data, usage } = await client.embeddings.create({ model: name, input });
  assert.equal(
    data.map(({ index }) => index),
    [0, 1, 2],
  );
  const product = (a: number[] = [], b: number[] = []) =>
    a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
  const [first, other, again] = data.map(({ embedding }) => embedding);
  assert.ok(Math.abs(product(first, first) - 1) < 1e-5);
  assert.ok(product(first, again) > 0.99999 && product(first, other) < 0.99999);
  assert.ok(usage.prompt_tokens > 3 && usage.total_tokens === usage.prompt_tokens);
  // The client asks for base64 by itself; as plain numbers it is the same vector.
  const plain = await client.embeddings.create({ model: name, input: 'A parcel', encoding_format: 'float' });
  assert.ok(product(plain.data[0]?.embedding, first) > 0.99999);
  const ids = await client.embeddings.create({ model: name, input: [[5, 6, 7], [8]] });
  assert.is(ids.data.length, 2);
  assert.is((await client.embeddings.create({ model: name, input: [5, 6, 7] })).usage.prompt_tokens, 3);
  const create = (more: object) => client.embeddings.create({ model: name, input, ...more });
  const long = await refusal(create({ input: ['short', 'word '.repeat(5000)] }));
  assert.equal([long.param, long.code], ['input.1', 'context_length_exceeded']);
  const short = await refusal(create({ dimensions: 2 }));
  assert.equal([short.param, short.code], ['dimensions', 'unsupported_parameter']);
  for (const wrong of ['', [], [''], [[]], [1.5], [['a']], [4_000_000_000]])
    assert.match((await refusal(create({ input: wrong }))).param ?? '', /^input/);
});

test('a client that goes away in the middle of a stream frees the model', async () => {
  const stream = await client.chat.completions.create({
    model: name,
    messages: question,
    temperature: 0,
    max_tokens: 200,
    stream: true,
  });
  stream.controller.abort();
  const answer = await client.chat.completions.create({
    model: name,
    messages: question,
    temperature: 0,
    max_tokens: 2,
  });
  assert.ok(answer.usage);
});

test('the stock Python client gets the same answers and errors', async () => {
  const python = join(root, 'trainer', '.venv', 'bin', 'python');
  const script = join(root, 'test', 'api', 'openai_client.py');
  const { stdout } = await promisify(execFile)(python, [script, `${service.url}/v1`, name]);
  const got = JSON.parse(stdout);
  const whole = await client.chat.completions.create({
    model: name,
    messages: question,
    temperature: 0,
    max_tokens: 12,
  });
  assert.equal(got.models, [name]);
  assert.is(got.model, name);
  assert.is(got.whole, whole.choices[0]?.message.content);
  assert.is(got.finish, whole.choices[0]?.finish_reason);
  assert.equal(counts(got.usage), counts(whole.usage));
  assert.is(got.streamed, got.whole);
  assert.equal(counts(got.streamed_usage), counts(got.usage));
  assert.type(got.ticket.urgent, 'boolean');
  assert.equal(got.logprobs.tokens.join('').trimStart(), got.whole.trimStart());
  assert.is(got.logprobs.top, 2);
  assert.equal(got.choices, [0, 1]);
  assert.equal(got.vectors.lengths, [1, 1]);
  assert.ok(got.vectors.size > 1);
  assert.ok(got.text);
  assert.is(got.text_streamed, got.text);
  assert.equal(got.missing, ['NotFoundError', 404, 'model_not_found', null]);
  assert.equal(got.invalid, ['BadRequestError', 400, null, 'messages']);
  assert.equal(got.tools, ['BadRequestError', 400, null, 'tools']);
});

test.run();
