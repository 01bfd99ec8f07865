import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService, tinyModel } from '../service.ts';
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

test('conversations are shown chat by chat, with what is learned', async () => {
  const service = await startService();
  const messages = [
    { role: 'system', content: 'You sort messages.' },
    { role: 'user', content: 'My parcel has not come.' },
    { role: 'assistant', content: 'team: access', weight: 0 },
    { role: 'user', content: 'No, it is about a parcel.' },
    { role: 'assistant', content: 'team: shipping' },
  ];
  await service.upload('chats.jsonl', `${JSON.stringify({ messages })}\n`.repeat(12));
  const { page, faults } = await openPage(service.url, '/training');
  await typeModel(page, tinyModel('llama', 'chatml'));
  await sees(page, 'Model found');
  await page.getByLabel('Dataset', { exact: true }).selectOption('chats.jsonl');
  await page.getByLabel('Max sequence length').fill('128');
  await page.getByText('Token preview').click();
  await page.getByRole('button', { name: 'Show tokens' }).click();
  await page.locator('.seen-row').nth(4).waitFor({ timeout: 120_000 });
  const chat = page.locator('.seen-row').first();
  await keepPictures(page, 'token-preview');
  const bubbles = await chat.locator('.bubble').evaluateAll((all) =>
    all.map((bubble) => {
      const { dataset } = bubble as HTMLElement;
      return [dataset.role, dataset.kind, bubble.textContent?.replace(/\s+/g, ' ').trim()];
    }),
  );
  assert.equal(bubbles, [
    ['system', 'read', 'System You sort messages.'],
    ['user', 'read', 'User My parcel has not come.'],
    ['assistant', 'read', 'Assistant not learned team: access'],
    ['user', 'read', 'User No, it is about a parcel.'],
    ['assistant', 'learned', 'Assistant team: shipping'],
  ]);
  const learned = await chat.locator('.token[data-kind="learned"]').allTextContents();
  assert.is(learned.join(''), 'team: shipping<|im_end|>');
  assert.equal(await axeViolations(page), []);

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
  await page.locator('.seen-row').nth(4).waitFor({ timeout: 300_000 });
  await sees(page, /the rejected one is compared with it/);
  assert.equal(
    await chat
      .locator('.bubble')
      .evaluateAll((all) => all.map((bubble) => (bubble as HTMLElement).dataset.kind)),
    ['read', 'learned'],
  );
  assert.is(
    (await chat.locator('.token[data-kind="learned"]').allTextContents()).join(''),
    'team: shipping<|im_end|>',
  );
  await keepPictures(page, 'token-preview-pairs');
  assert.equal(faults, []);
});

test.run();
