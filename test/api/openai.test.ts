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
});
test.after(endAll);

const question = [{ role: 'user' as const, content: 'My parcel has not come.' }];

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
  let usage = null;
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
  assert.equal({ ...usage }, { ...whole.usage });
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
  assert.match(long.message, /context/);
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
  assert.equal(got.usage, { ...whole.usage });
  assert.is(got.streamed, got.whole);
  assert.equal(got.streamed_usage, got.usage);
  assert.ok(got.text);
  assert.is(got.text_streamed, got.text);
  assert.equal(got.missing, ['NotFoundError', 404, 'model_not_found', null]);
  assert.equal(got.invalid, ['BadRequestError', 400, null, 'messages']);
});

test.run();
