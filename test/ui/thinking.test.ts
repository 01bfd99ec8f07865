/** A model that is trained on reasoning returns it beside the answer, and the page folds it. */
import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  type Json,
  startService,
  type TestService,
  tinyModel,
  until,
  untilEnded,
} from '../service.ts';
import { closeBrowser, keepPicture, openPage, sees } from './browser.ts';

let service: TestService;
let modelId = '';

test.before(async () => {
  service = await startService({ warm: true });
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

/** In the manner of today's: the prompt begins the reasoning, a switch ends it at once, and earlier reasoning is dropped. */
const template = [
  '{% for m in messages %}<|im_start|>{{ m.role }}\n',
  '{% if m.reasoning_content and loop.last %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}',
  '{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n',
  '{% if enable_thinking is defined and enable_thinking is false %}\n</think>\n\n{% endif %}{% endif %}',
].join('');
const rows = [
  { asked: 'My parcel has not come.', thought: 'A parcel.', answer: 'team: shipping' },
  { asked: 'I was charged twice.', thought: 'Money.', answer: 'team: billing' },
  { asked: 'I cannot log in.', thought: 'A login.', answer: 'team: access' },
];

test('it answers with reasoning_content, in full and streamed, and without when asked so', async () => {
  const path = join(service.dataDir, 'thinking-base');
  cpSync(tinyModel('qwen3', 'chatml'), path, { recursive: true });
  for (const file of readdirSync(path).filter((name) => name.endsWith('.jinja'))) rmSync(join(path, file));
  writeFileSync(join(path, 'chat_template.jinja'), template);
  const lines = Array.from({ length: 24 }, (_, index) => {
    const { asked, thought, answer } = rows[index % 3] as (typeof rows)[number];
    const said = { role: 'assistant', content: answer, reasoning_content: thought };
    return JSON.stringify({ messages: [{ role: 'user', content: asked }, said] });
  });
  await service.upload('thoughts.jsonl', `${lines.join('\n')}\n`);
  const preview: Json = await service.call('POST', '/api/datasets/thoughts.jsonl/preview', {
    ...{ task: 'text-generation', model_name: path, rows: 1 },
  });
  assert.is(preview.body.thinking, 'learn', JSON.stringify(preview.body));
  assert.is(preview.body.rows[0].messages[1].reasoning, 'A parcel.');
  const started = await service.call('POST', '/api/start_training', {
    ...{ task: 'text-generation', model_name: path, dataset: 'thoughts.jsonl', seed: 1, device: 'cpu' },
    ...{ max_steps: 80, per_device_train_batch_size: 12, gradient_accumulation_steps: 1, warmup_ratio: 0 },
    ...{ learning_rate: 0.01, lora_r: 16, lora_alpha: 32, lora_dropout: 0, max_seq_length: 128 },
    ...{ lr_scheduler_type: 'linear', use_4bit: false, bf16: false },
  });
  assert.is(started.status, 200, JSON.stringify(started.body));
  assert.is((await untilEnded(service)).status, 'completed');

  modelId = (await service.call('GET', '/api/models/')).body[0].model_id;

  const client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const [{ id = '' } = {}] = (await client.models.list()).data;
  const messages = [{ role: 'user' as const, content: rows[0]?.asked ?? '' }];
  const ask = { model: id, messages, temperature: 0, max_tokens: 32 };
  const { message } = (await client.chat.completions.create(ask)).choices[0] ?? {};
  assert.equal(
    [message?.content, (message as Json).reasoning_content],
    ['team: shipping', 'A parcel.'],
    JSON.stringify(message),
  );

  const streamed = { content: '', reasoning_content: '' };
  for await (const { choices } of await client.chat.completions.create({ ...ask, stream: true })) {
    const delta: Json = choices[0]?.delta ?? {};
    streamed.content += delta.content ?? '';
    streamed.reasoning_content += delta.reasoning_content ?? '';
  }
  assert.equal(streamed, { content: 'team: shipping', reasoning_content: 'A parcel.' });

  const thoughtful = await client.chat.completions.create({ ...ask, reasoning_effort: 'high' });
  for (const asked of [
    { reasoning_effort: 'none' as const },
    { chat_template_kwargs: { enable_thinking: false } },
    { response_format: { type: 'json_object' as const } },
  ]) {
    const off = await client.chat.completions.create({ ...ask, ...asked });
    assert.not.ok('reasoning_content' in (off.choices[0]?.message ?? {}));
    assert.ok((off.usage?.prompt_tokens ?? 0) > (thoughtful.usage?.prompt_tokens ?? 0), 'the tag is closed');
  }
  // The template drops the reasoning of an earlier answer.
  const said = { role: 'assistant' as const, content: 'team: shipping' };
  const next = { role: 'user' as const, content: 'Thanks.' };
  const counts = [];
  for (const earlier of [said, { ...said, reasoning_content: 'A parcel.' }]) {
    const answer = await client.chat.completions.create({ ...ask, messages: [...messages, earlier, next] });
    counts.push(answer.usage?.prompt_tokens);
  }
  assert.is(counts[0], counts[1]);
});

test('the page folds the reasoning, and keeps it for the next question', async () => {
  const { page, faults } = await openPage(service.url, `/playground/${modelId}`);
  const asked: Json[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/v1/chat/completions')) asked.push(request.postDataJSON());
  });
  await page.getByLabel('Temperature').fill('0');
  const prompt = page.getByLabel('Prompt', { exact: true });
  for (const [index, text] of [rows[1]?.asked ?? '', 'Thanks.'].entries()) {
    await prompt.fill(text);
    await prompt.press('Enter');
    await until(
      async () =>
        (await page
          .locator('.exchanges')
          .getByText(/\d tokens/)
          .count()) ===
        index + 1,
      'it has answered',
    );
  }
  await page.reload();
  const first = page.locator('.exchange').first();
  assert.is((await first.locator('.answer-text').textContent())?.trim(), 'team: billing');
  const thought = first.getByText('Money.', { exact: true });
  assert.not.ok(await thought.isVisible());
  await first.locator('summary').click();
  await sees(page, 'Money.');
  await keepPicture(page, 'thinking');
  const [text, figures] = await Promise.all(
    [first.locator('.answer-text'), first.getByText(/\d tokens/)].map((one) => one.boundingBox()),
  );
  assert.ok((text?.y ?? 0) + (text?.height ?? 0) <= (figures?.y ?? 0), 'nothing is written over another');
  assert.equal(asked[1].messages[1], {
    ...{ role: 'assistant', content: 'team: billing', reasoning_content: 'Money.' },
  });
  assert.equal(faults, []);
});

test.run();
