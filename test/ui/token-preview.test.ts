import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService, temporaryFolder, tinyModel } from '../service.ts';
import {
  axeViolations,
  closeBrowser,
  keepPictures,
  openGroup,
  openPage,
  sees,
  typeModel,
} from './browser.ts';

test.after(async () => {
  await closeBrowser();
  await endAll();
});

const calling =
  '{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{% for call in m.tool_calls or [] %}' +
  '<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}<|im_end|>\n{% endfor %}' +
  '{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}';

test('conversations are shown chat by chat, with what is learned', async () => {
  const service = await startService();
  const messages = [
    { role: 'system', content: 'You sort messages.' },
    { role: 'user', content: 'My parcel has not come.' },
    { role: 'assistant', content: 'team: access', weight: 0 },
    { role: 'user', content: 'No, it is about a parcel.' },
    { role: 'assistant', content: 'team: shipping' },
  ];
  const called = { name: 'find', arguments: '{"id":7}' };
  const calls = [
    ...messages.slice(0, 2),
    { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', type: 'function', function: called }] },
    { role: 'tool', tool_call_id: 'call_1', content: 'It is in Bern.' },
    { role: 'assistant', content: 'team: shipping' },
  ];
  await service.upload('calls.jsonl', `${JSON.stringify({ messages: calls })}\n`.repeat(12));
  // A template with calls of tools.
  const model = join(temporaryFolder(), 'calling');
  cpSync(tinyModel('llama', 'chatml'), model, { recursive: true });
  writeFileSync(join(model, 'chat_template.jinja'), calling);
  const named = [
    ...messages.slice(0, 3),
    { role: 'user', content: 'I am Björn, 中文 🙂!' },
    ...messages.slice(4),
  ];
  const chats = [messages, named, ...Array<typeof messages>(10).fill(messages)];
  await service.upload('chats.jsonl', chats.map((one) => `${JSON.stringify({ messages: one })}\n`).join(''));
  const { page, faults } = await openPage(service.url, '/training');
  await typeModel(page, model);
  await sees(page, 'Model found');
  await page.getByLabel('Dataset', { exact: true }).selectOption('chats.jsonl');
  await page.getByLabel('Max sequence length').fill('240');
  await page.getByText('Token preview').click();
  await page.getByRole('button', { name: 'Show tokens' }).click();
  await page.locator('.seen-row').waitFor({ timeout: 120_000 });
  const chat = page.locator('.seen-row').first();
  await keepPictures(page, 'token-preview');
  const bubbles = () =>
    chat.locator('.bubble').evaluateAll((all) =>
      all.map((bubble) => {
        const { dataset } = bubble as HTMLElement;
        return [dataset.role, dataset.kind, bubble.textContent?.replace(/\s+/g, ' ').trim()];
      }),
    );
  assert.equal(await bubbles(), [
    ['system', 'read', 'System You sort messages.'],
    ['user', 'read', 'User My parcel has not come.'],
    ['assistant', 'read', 'Assistant not learned team: access'],
    ['user', 'read', 'User No, it is about a parcel.'],
    ['assistant', 'learned', 'Assistant team: shipping'],
  ]);
  const learned = async () => (await chat.locator('.token[data-kind="learned"]').allTextContents()).join('');
  assert.is(await learned(), 'team: shipping<|im_end|>');
  assert.equal(await axeViolations(page), []);

  // Tokens that share a character are one box.
  const row = (which: string) => page.getByRole('button', { name: `${which} row` });
  assert.ok(await row('Previous').isDisabled());
  await row('Next').click();
  await sees(page, /Line 2: \d+ tokens/);
  const box = (text: string) => page.locator('.token').filter({ hasText: text });
  assert.equal(await page.locator('.seen-row').count(), 1);
  assert.not.match(await page.locator('.tokens').innerText(), /\ufffd/);
  for (const char of ['ö', '中', '文', '🙂']) assert.equal(await box(char).allTextContents(), [char]);
  await page.getByLabel('IDs and bytes').check();
  const parts = await box('🙂').locator('.token-id').allTextContents();
  assert.equal(
    parts.map((part) => part.replace(/^\d+ /, '')),
    ['F0', '9F', '99', '82'],
  );
  await keepPictures(page, 'token-preview-bytes');
  assert.equal(await axeViolations(page), []);
  await row('Previous').click();
  await sees(page, /Line 1: \d+ tokens/);

  await page.reload();
  await page.getByLabel('Dataset', { exact: true }).selectOption('calls.jsonl');
  await page.getByText('Token preview').click();
  await page.getByRole('button', { name: 'Show tokens' }).click();
  await page.locator('.seen-row').waitFor({ timeout: 120_000 });
  await keepPictures(page, 'token-preview-calls');
  assert.equal((await bubbles()).slice(2), [
    ['assistant', 'learned', 'Assistant find({"id":7})'],
    ['tool', 'read', 'Tool It is in Bern.'],
    ['assistant', 'learned', 'Assistant team: shipping'],
  ]);
  assert.is(
    await learned(),
    '<tool_call>{"name": "find", "arguments": {"id": 7}}</tool_call><|im_end|>team: shipping<|im_end|>',
  );
  // The syntax of Hermes takes the place of the template's own.
  await openGroup(page, 'Basics');
  await page.getByLabel('Tool syntax').selectOption('hermes');
  await keepPictures(page, 'syntax-of-tools');
  await page.getByRole('button', { name: 'Show tokens' }).click();
  await page.locator('.seen-row').waitFor({ timeout: 120_000 });
  assert.is(
    await learned(),
    '<tool_call>\n{"name": "find", "arguments": {"id": 7}}\n</tool_call><|im_end|>team: shipping<|im_end|>',
  );

  const [, user, , , answer] = messages;
  const pair = {
    prompt: [user],
    chosen: [answer],
    rejected: [{ role: 'assistant', content: 'team: billing' }],
  };
  await service.upload('pairs.jsonl', `${JSON.stringify(pair)}\n`.repeat(12));
  await page.reload();
  await openGroup(page, 'Method');
  await page.getByRole('radio', { name: /^DPO/ }).check();
  await page.getByLabel('Dataset', { exact: true }).selectOption('pairs.jsonl');
  await page.getByText('Token preview').click();
  await page.getByRole('button', { name: 'Show tokens' }).click();
  await page.locator('.seen-row').waitFor({ timeout: 300_000 });
  await sees(page, /the rejected one is compared with it/);
  assert.equal(
    await chat
      .locator('.bubble')
      .evaluateAll((all) => all.map((bubble) => (bubble as HTMLElement).dataset.kind)),
    ['read', 'learned'],
  );
  assert.is(await learned(), 'team: shipping<|im_end|>');
  await keepPictures(page, 'token-preview-pairs');
  assert.equal(faults, []);
});

test.run();
