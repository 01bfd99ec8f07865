/**
 * A cheap sample of conversation-matrix.long.ts: answers that must not be learned, with a model that begins its answers
 * with white space, and preferences.
 */
import OpenAI from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { model } from '../models.ts';
import { endAll, startService, type TestService, tinyModel } from '../service.ts';
import { trainAndAsk } from './conversation-shapes.ts';

let service: TestService;

test.before(async () => {
  service = await startService({ warm: true });
});
test.after(endAll);

test('a model learns the last turn of conversations, and not the wrong one before it', async () => {
  const { right, sequences } = await trainAndAsk(service, {
    ...{ path: model('spaced'), shape: 'weights', hasSystem: true },
  });
  assert.ok(right > 0);
  assert.is(sequences, null);
});

test('an answer begins with its first word, and the continuation of a text with what was generated', async () => {
  const client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const [{ id = '' } = {}] = (await client.models.list()).data;
  const asked = { model: id, temperature: 0, max_tokens: 16 };
  // One of the conversations that it was trained on: what it answers to others is as good as random.
  const [system, first, second] = ['You sort messages.', 'I was charged twice.', 'My parcel has not come.'];
  const messages = [
    { role: 'system' as const, content: system },
    { role: 'user' as const, content: first },
    { role: 'assistant' as const, content: 'team: nobody' },
    { role: 'user' as const, content: second },
  ];
  const whole = await client.chat.completions.create({ ...asked, messages });
  const answer = whole.choices[0]?.message.content ?? '';
  assert.is(answer, 'team: shipping');
  let streamed = '';
  for await (const { choices } of await client.chat.completions.create({ ...asked, messages, stream: true }))
    streamed += choices[0]?.delta.content ?? '';
  assert.is(streamed, answer);
  const prompt = `<s>[INST] ${first}[/INST] team: nobody</s>[INST] ${system}\n\n${second}[/INST]`;
  const raw = await client.completions.create({ ...asked, prompt, stop: ['</s>'] });
  // One space is the template's, the other the tokenizer's.
  assert.is(raw.choices[0]?.text, `  ${answer}`);
});

test('a model trains on preferences between answers to a conversation, and answers', async () => {
  const { asked } = await trainAndAsk(service, {
    ...{ path: tinyModel('qwen3', 'chatml'), shape: 'preferences', hasSystem: true },
  });
  assert.is(asked, 6);
});

test.run();
