/** Base models of this machine answer before anything was trained: of the hub's cache, and GGUF files of other programs. */
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { layOutLmStudio, layOutOllama } from '../gguf-caches.ts';
import { writeTinyGguf } from '../native/tiny-gguf.ts';
import { endAll, type Json, startService, type TestService, temporaryFolder, tinyModel } from '../service.ts';
import { splitGguf } from '../split-gguf.ts';

const home = temporaryFolder();
const hub = join(home, 'hub');
const revision = 'a'.repeat(40);
const ofHub = 'base:owner/toy';
const ofOllama = 'base:smollm2:135m';
const question = [{ role: 'user' as const, content: 'My parcel has not come.' }];
let service: TestService;
let client: OpenAI;
/** Ollama's file. */
const noTools = 'The model’s chat template has no tools, or calls in a form that is not known.';
let gguf: string;

/** Lays a model out as the hub's cache does. @returns the folder of its repository. */
function layOutHub(name: string, model: string): string {
  const folder = join(hub, `models--${name.replace('/', '--')}`);
  mkdirSync(join(folder, 'refs'), { recursive: true });
  writeFileSync(join(folder, 'refs', 'main'), revision);
  cpSync(model, join(folder, 'snapshots', revision), { recursive: true });
  return folder;
}

test.before(async () => {
  layOutHub('owner/toy', tinyModel('llama', 'chatml'));
  layOutHub('owner/encoder', tinyModel('bert'));
  const tiny = join(home, 'tiny.gguf');
  writeTinyGguf(tiny);
  gguf = layOutOllama(home, tiny);
  splitGguf(layOutLmStudio(home, tiny, 'owner/Split-GGUF'), 2);
  const env = { HOME: home, XDG_CACHE_HOME: '', HF_HOME: '', HF_HUB_CACHE: hub, OLLAMA_MODELS: '' };
  service = await startService({ warm: true, env });
  client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: 'none', maxRetries: 0 });
});
test.after(endAll);

const ask = (model: string, more: Json = {}) =>
  service.call('POST', '/v1/chat/completions', {
    ...{ model, messages: question, max_tokens: 6, temperature: 0, ...more },
  });
const listed = async (): Promise<Json[]> => (await service.call('GET', '/api/base_models')).body.models;
const answersOf = (name: string) =>
  service.call('GET', `/api/base_models/answers?name=${encodeURIComponent(name)}`);

test('they are listed by the names that they answer to, and /v1/models has trained models alone', async () => {
  const names = (await listed()).map(({ model, answers_as: name }) => [model, name]);
  assert.equal(Object.fromEntries(names)['owner/encoder'], null);
  const known = names.flatMap(([, name]) => name ?? []).sort();
  assert.equal(known, [ofHub, 'base:owner/Split-GGUF/tiny-00001-of-00002.gguf', ofOllama].sort());
  assert.equal((await service.call('GET', '/v1/models')).body.data, []);
  assert.is((await client.models.retrieve(ofHub)).id, ofHub);
});

test('a model of the hub cache answers with its own chat template', async () => {
  const { choices, usage } = await client.chat.completions.create({
    ...{ model: ofHub, messages: question, max_tokens: 6, temperature: 0 },
  });
  const text = choices[0]?.message.content;
  assert.ok((usage?.completion_tokens ?? 0) > 0);
  const prompt = `<|im_start|>user\n${question[0]?.content}<|im_end|>\n<|im_start|>assistant\n`;
  const raw = { model: ofHub, prompt, max_tokens: 6, temperature: 0 };
  const same = await client.completions.create(raw);
  assert.is(same.choices[0]?.text, text);
  assert.equal((await answersOf(ofHub)).body, {
    ...{ name: ofHub, chat_template: true, context_length: 256, tools_fault: noTools, gguf: false },
  });
  let streamed = '';
  for await (const chunk of await client.chat.completions.create({
    ...{ model: ofHub, messages: question, max_tokens: 6, temperature: 0, stream: true as const },
  }))
    streamed += chunk.choices[0]?.delta.content ?? '';
  assert.is(streamed, text);
});

test('a GGUF file answers where it lies, also one in parts, and by its path', async () => {
  const { status, body } = await ask(ofOllama);
  assert.is(status, 200, JSON.stringify(body));
  const { content } = body.choices[0].message;
  assert.is((await ask(`base:${gguf}`)).body.choices[0].message.content, content);
  const split = await ask('base:owner/Split-GGUF/tiny-00001-of-00002.gguf', { logprobs: true });
  assert.is(split.body.choices?.[0].message.content, content, JSON.stringify(split.body));
  assert.ok(split.body.choices[0].logprobs.content.length > 0);
  const facts = (await answersOf(ofOllama)).body;
  assert.equal(facts, {
    name: ofOllama,
    chat_template: false,
    context_length: 128,
    tools_fault: noTools,
    gguf: true,
  });
  const { processes } = (await service.call('GET', '/api/playground/figures')).body;
  assert.ok(processes.some(({ models }: Json) => models.includes(ofOllama)));
  const vectors = await client.embeddings.create({ model: ofOllama, input: 'a parcel' });
  assert.is(vectors.data[0]?.embedding.length, 256);
});

test('what only a training makes is refused, and what cannot answer', async () => {
  for (const field of [{ scale: 0.5 }, { checkpoint: 3 }, { file: 'Q4_0' }, { blend: { model: ofHub } }]) {
    const { status, body } = await ask(ofOllama, field);
    assert.is(status, 400, JSON.stringify(body));
    assert.match(body.error.message, `${Object.keys(field)[0]} needs a fine-tuned model`);
  }
  assert.is((await ask(ofHub, { as_base: true })).status, 200);
  assert.match((await ask(ofHub, { logprobs: true })).body.error.message, 'has no GGUF file');
  const vectors = await service.call('POST', '/v1/embeddings', { model: ofHub, input: 'a' });
  assert.is(vectors.status, 400);
  assert.match(vectors.body.error.message, 'has no GGUF file, which embeddings need');
  for (const name of ['base:owner/encoder', 'base:owner/missing', 'base:/etc/passwd', 'base:', 'base:../x']) {
    const { status, body } = await ask(name);
    assert.is(status, 404, name);
    assert.match(body.error.message, `no base model ${name.slice(5)} on this machine that can answer`);
    assert.is((await answersOf(name)).status, 404);
    assert.is((await service.call('GET', `/v1/models/${encodeURIComponent(name)}`)).status, 404);
  }
  assert.is((await service.call('DELETE', `/v1/models/${encodeURIComponent(ofHub)}`)).status, 404);
});

test('one whose files are damaged says why, and answers once they are mended', async () => {
  const folder = join(layOutHub('owner/damaged', tinyModel('llama', 'chatml')), 'snapshots', revision);
  const weights = join(folder, 'model.safetensors');
  writeFileSync(weights, 'none');
  const { status, body } = await ask('base:owner/damaged');
  assert.is(status, 400, JSON.stringify(body));
  assert.match(body.error.message, /damaged|safetensors/);
  cpSync(join(tinyModel('llama', 'chatml'), 'model.safetensors'), weights);
  assert.is((await ask('base:owner/damaged')).status, 200);
});

test('one that is deleted meanwhile is not found, leaves the memory, and its chats can be read', async () => {
  const turn = { id: 'a', after: '', prompt: 'Hi', answers: [{ name: 'toy', text: 'Hello' }] };
  for (const [id, model_id] of [
    ['hub', ofHub],
    ['ollama', ofOllama],
  ])
    await service.call('PUT', `/api/playground/chats/${id}`, { model_id, turns: [turn] });
  const ofDeleted = async () =>
    (await service.call('GET', '/api/playground/chats?model_deleted=true')).body.chats.map(
      ({ id }: Json) => id,
    );
  assert.equal(await ofDeleted(), []);
  rmSync(join(hub, 'models--owner--toy'), { recursive: true });
  rmSync(gguf);
  for (const name of [ofHub, ofOllama]) assert.is((await ask(name)).status, 404);
  assert.equal((await ofDeleted()).sort(), ['hub', 'ollama']);
  const { processes } = (await service.call('GET', '/api/playground/figures')).body;
  const holding = processes.flatMap(({ models }: Json) => models);
  assert.not(holding.includes(ofOllama) || holding.includes(ofHub), JSON.stringify(holding));
  assert.not(existsSync(gguf));
});

test.run();
