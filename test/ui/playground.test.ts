import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type LoopbackHub, startLoopbackHub } from '../hub/loopback.ts';
import {
  endAll,
  quickRequest,
  root,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  tinyModel,
  until,
  untilEnded,
} from '../service.ts';
import { axeViolations, closeBrowser, keepPicture, openPage, sees } from './browser.ts';

const token = 'hf_canaryForTheBrowser0123456';
let hub: LoopbackHub;
let service: TestService;
/** One that converses, and one that answers questions about a text. */
let chatId = '';
let questionId = '';

test.after(async () => {
  await closeBrowser();
  await endAll();
  hub.close();
});

test.before(async () => {
  hub = await startLoopbackHub();
  hub.accounts.set(token, { name: 'alice', role: 'write', orgs: [] });
  service = await startService({
    warm: true,
    env: { HF_ENDPOINT: hub.url, HUB_TOKEN: token, HF_HOME: temporaryFolder(), HF_TOKEN: '' },
  });
  await service.upload('support.jsonl', supportRows());
  const questions = readFileSync(join(root, 'examples', 'question-answering.jsonl'), 'utf8');
  await service.upload('questions.jsonl', questions);
  const train = async (changes: Record<string, unknown>) => {
    const { status } = await service.call('POST', '/api/start_training', quickRequest(changes));
    assert.is(status, 200);
    assert.is((await untilEnded(service)).status, 'completed');
    return (await service.call('GET', '/api/models/')).body[0].model_id as string;
  };
  chatId = await train({ model_name: tinyModel('llama', 'chatml'), use_chat_template: true });
  questionId = await train({ task: 'extractive-question-answering', dataset: 'questions.jsonl' });
});

test('a conversation is remembered by the model and by the page, can be copied, stopped and cleared', async () => {
  const { page, context, faults } = await openPage(service.url, `/playground/${chatId}`);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByLabel('Multi-turn conversation').check();
  await page.getByLabel('Max new tokens').fill('8');
  await page.getByLabel('Temperature').fill('0');
  // What it was trained on is offered to begin with.
  await page.locator('.suggestions button').first().click();
  assert.is.not(await page.getByLabel('Prompt').inputValue(), '');
  const answers = page.locator('.exchange');
  const ask = async (text: string, count: number) => {
    await page.getByLabel('Prompt').fill(text);
    await page.keyboard.press('Enter');
    await until(
      async () => (await page.getByText(/\d tokens/).count()) === count,
      `answer ${count} is there`,
    );
  };
  await ask('My parcel has not come.', 1);
  await ask('<b>And</b> now?', 2);
  assert.is(await answers.nth(1).locator('.asked b').count(), 0);

  await page.getByRole('button', { name: 'Copy as curl' }).click();
  await sees(page, 'Copied');
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(copied, '/v1/chat/completions');
  assert.match(copied, 'My parcel has not come.');
  await page.getByRole('button', { name: 'Copy as Python' }).click();
  await until(
    async () => (await page.evaluate(() => navigator.clipboard.readText())).startsWith('import json'),
    'the Python is in the clipboard',
  );

  await page.reload();
  await until(async () => (await answers.count()) === 2, 'a refresh lost nothing');

  await page.getByLabel('Max new tokens').fill('1000000');
  await page.getByLabel('Temperature').fill('2');
  await page.getByLabel('Prompt').fill('Tell a long story.');
  await page.keyboard.press('Enter');
  const stop = page.getByRole('button', { name: 'Stop' });
  await Promise.race([stop.waitFor(), answers.nth(2).locator('.panel-error').waitFor()]);
  if (await stop.isVisible()) await stop.click().catch(() => undefined);
  await page.getByRole('button', { name: 'Ask', exact: true }).waitFor();
  assert.equal(await axeViolations(page), []);
  await page.getByRole('button', { name: 'Clear' }).click();
  await page.locator('.suggestions').waitFor();
  assert.is(await answers.count(), 0);
  assert.equal(faults, []);
});

test('a question has its text in a field of its own, and is answered beside the base', async () => {
  const { page, faults } = await openPage(service.url, `/playground/${questionId}`, { theme: 'dark' });
  assert.is(await page.getByLabel('Multi-turn conversation').count(), 0);
  await page.getByLabel('Context').fill('Elif opened the shop in Turku in 1962.\n\nIt sells bread.');
  await page.getByLabel('Question').fill('When was the shop opened?');
  await page.getByLabel('Max new tokens').fill('8');
  await page.getByLabel('Compare with the base model').check();
  await page.getByLabel('Question').press('Enter');
  await until(async () => (await page.getByText(/\d tokens/).count()) === 2, 'both answers are there');
  await sees(page, 'Tuned');
  await page.reload();
  assert.match(await page.getByLabel('Context').inputValue(), 'It sells bread.');
  assert.equal(await axeViolations(page), []);
  await keepPicture(page, 'playground-answers-dark-1280');
  assert.equal(faults, []);
});

test('a model is pushed to the hub once, however often the button is pressed', async () => {
  const { page, faults } = await openPage(service.url, `/models/${chatId}`);
  await sees(page, 'with a chat template');
  await page.getByRole('button', { name: 'Push to the hub…' }).click();
  const push = page.getByRole('button', { name: 'Push', exact: true });
  assert.ok(await push.isDisabled());
  await page.getByLabel('Repository').fill('stranger/tuned');
  await push.click();
  await sees(page, 'Could not push the model');
  assert.equal(await axeViolations(page), []);
  await page.getByLabel('Repository').fill('alice/tuned');
  await push.dblclick();
  await sees(page, 'Pushed to');
  assert.is(hub.seen.filter(({ method, path }) => method === 'POST' && path.includes('/commit/')).length, 1);
  await page.keyboard.press('Escape');

  // Its place in the list of models, and the way back.
  await page.getByRole('link', { name: 'All models' }).click();
  await sees(page, '2 of 2');
  await page.goBack();
  await sees(page, 'Lineage');
  assert.equal(faults, []);
});

test('a hub model is looked up while it is typed, and the page says if it is unavailable', async () => {
  hub.addModel('alice/open', tinyModel('llama'));
  const { page, faults } = await openPage(service.url, '/training');
  await page.getByLabel('Other model').check();
  const name = page.getByLabel('Hub ID or folder');
  await name.pressSequentially('alice/none', { delay: 20 });
  await sees(page, 'This model does not exist, or is private or gated');
  await sees(page, /accept its terms on the hub/);
  assert.is(await name.getAttribute('aria-invalid'), 'true');
  await name.fill('alice/open');
  await sees(page, 'Model found');

  // The estimate follows what is edited.
  await page.getByRole('radio', { name: /^support\.jsonl/ }).check();
  const needed = page.locator('.estimate .meter').first();
  await needed.waitFor();
  const before = await needed.textContent();
  await page.getByLabel('Batch size', { exact: true }).fill('512');
  await until(async () => (await needed.textContent()) !== before, 'the estimate follows the batch size');
  assert.equal(await axeViolations(page), []);
  assert.equal(faults, []);
});

test('a model that is deleted elsewhere is gone from every tab', async () => {
  const list = (await openPage(service.url, '/models')).page;
  const detail = (await openPage(service.url, `/models/${questionId}`)).page;
  const talk = (await openPage(service.url, `/playground/${questionId}`)).page;
  await sees(list, '2 of 2');
  await sees(detail, 'Lineage');
  await talk.getByLabel('Question').waitFor();
  assert.is((await service.call('DELETE', `/api/models/${questionId}`)).status, 200);
  await sees(list, '1 of 1');
  await sees(detail, 'This model was deleted');
  await sees(talk, 'Model not found');
});

test('the page says that a model no longer exists', async () => {
  const { page } = await openPage(service.url, '/models/nothing');
  await sees(page, 'Model not found');
  await page.goto(`${service.url}/playground/nothing`);
  await sees(page, 'Model not found');
});

test.run();
