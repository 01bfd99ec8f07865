import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type LoopbackHub, startLoopbackHub } from '../hub/loopback.ts';
import {
  endAll,
  type Json,
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
import { answered, rolesOf } from './answered.ts';
import { appearanceFaults } from './appearance.ts';
import { axeViolations, closeBrowser, keepPicture, openPage, sees } from './browser.ts';

const run = promisify(execFile);
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
  chatId = await train({
    model_name: tinyModel('llama', 'chatml'),
    use_chat_template: true,
    save_steps: 2,
    save_total_limit: 3,
    max_steps: 30,
    learning_rate: 0.01,
  });
  questionId = await train({ task: 'extractive-question-answering', dataset: 'questions.jsonl' });
});

/** The bodies of the chat completions that a page asks for. */
function requestsOf(page: Page): Json[] {
  const bodies: Json[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/v1/chat/completions')) bodies.push(request.postDataJSON());
  });
  return bodies;
}

/** Leaves the chat that another test has left. */
async function freshChat(page: Page): Promise<void> {
  await page.locator('.exchange').first().waitFor();
  await page.getByRole('button', { name: 'New chat' }).click();
  await page.locator('.suggestions').waitFor();
}

const clipboard = (page: Page) => page.evaluate(() => navigator.clipboard.readText());

test('a chat is remembered by the model and by the page; prompts are recalled, edited and sent again', async () => {
  const { page, context, faults } = await openPage(service.url, `/playground/${chatId}`);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const requests = requestsOf(page);
  const answers = page.locator('.exchange');
  const prompt = page.getByLabel('Prompt', { exact: true });
  await page.getByLabel('Max new tokens').fill('8');
  // The first answers are made as those of the verdict.
  assert.is(await page.getByLabel('Temperature').inputValue(), '0');
  await sees(page, 'Answers are made as those of the verdict');
  await page.getByLabel('Temperature').fill('0.7');
  await page.getByRole('button', { name: 'Reset sampling' }).click();
  assert.is(await page.getByLabel('Temperature').inputValue(), '0');
  // What it was trained on is offered to begin with.
  await page.locator('.suggestions button').first().click();
  assert.is.not(await prompt.inputValue(), '');
  const ask = async (text: string, count: number) => {
    await prompt.fill(text);
    await page.keyboard.press('Enter');
    await answered(page, count);
  };
  await ask('My parcel has not come.', 1);
  await page.getByLabel('System prompt').fill('Be brief.');
  await page.getByLabel('Seed').fill('7');
  await page.getByLabel('Stop strings').fill('###\n\\n\\n');
  await ask('<b>And</b> now?', 2);
  assert.is(await answers.nth(1).locator('.asked b').count(), 0);
  assert.equal(requests.map(rolesOf), ['user', 'system user assistant user']);
  assert.equal([requests[1].seed, requests[1].stop], [7, ['###', '\n\n']]);
  const meter = page.locator('.context-meter');
  const most = (await service.call('GET', `/api/models/${chatId}/lineage`)).body.context_length;
  assert.match((await meter.textContent()) ?? '', new RegExp(`\\d of ${most.toLocaleString('en')} tokens`));

  // An empty field recalls what was asked.
  assert.is(await prompt.inputValue(), '');
  for (const expected of ['<b>And</b> now?', 'My parcel has not come.']) {
    await prompt.press('ArrowUp');
    await until(async () => (await prompt.inputValue()) === expected, `“${expected}” is recalled`);
  }
  await prompt.fill('');

  // It is told for a moment only.
  await page.getByRole('button', { name: 'View code' }).click();
  await Promise.all([sees(page, 'Copied'), page.getByRole('button', { name: 'Copy curl' }).click()]);
  assert.equal(await axeViolations(page), []);
  await page.keyboard.press('Escape');
  assert.match(await clipboard(page), '/v1/chat/completions');
  assert.match(await clipboard(page), 'My parcel has not come.');
  const copyAnswer = answers.nth(1).getByRole('button', { name: 'Copy answer' });
  await copyAnswer.click();
  const answer = (await answers.nth(1).locator('.answer-text').textContent()) ?? '';
  await until(async () => (await clipboard(page)) === answer.trim(), 'the answer is in the clipboard');

  // An answer is made anew with the same messages before it, beside the one before.
  await answers.nth(1).getByRole('button', { name: 'Regenerate' }).click();
  await until(() => requests.length === 3, 'it is asked again');
  assert.equal(requests[2].messages, requests[1].messages);
  await answered(page, 2);

  await sees(page, '2/2');
  await page.reload();
  await until(async () => (await answers.count()) === 2, 'a refresh lost nothing');
  await meter.waitFor();
  await answers.nth(1).getByRole('button', { name: 'Previous version' }).click();
  await sees(page, '1/2');

  // What follows an edited prompt stays with the version before.
  await answers.nth(0).getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByLabel('Edited prompt').fill('My parcel is broken.');
  await sees(page, 'What follows stays with the version before.');
  await page.getByLabel('Edited prompt').press('Enter');
  await until(async () => (await answers.count()) === 1, 'the conversation goes on from there');
  await answered(page, 1);
  assert.is(rolesOf(requests[3]), 'system user');
  assert.is(await answers.nth(0).locator('.asked').textContent(), 'My parcel is broken.');
  await page.getByRole('button', { name: 'Previous version' }).click();
  await until(async () => (await answers.count()) === 2, 'what followed it is there');
  await answers.nth(0).getByRole('button', { name: 'Next version' }).click();

  // An answer of the user's own is another version, which the conversation goes on from.
  await answers.nth(0).getByRole('button', { name: 'Edit answer' }).click();
  await page.getByLabel('Edited answer').fill('It is on its way.');
  await page.getByLabel('Edited answer').press('Enter');
  await sees(page, '3/3');
  await answers.nth(0).getByRole('button', { name: 'Bad' }).click();
  await page.getByLabel('Corrected answer').fill('Shipping: it is on its way.');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.reload();
  await sees(page, 'Shipping: it is on its way.');
  assert.is(
    await answers
      .nth(0)
      .locator('hone-answer-text')
      .textContent()
      .then((text) => text?.trim()),
    'It is on its way.',
  );
  assert.is(await page.getByRole('button', { name: 'Bad' }).getAttribute('aria-pressed'), 'true');

  // The corrected answer becomes a row, first of a new dataset, then of that one.
  const add = page.getByRole('button', { name: 'Add', exact: true });
  for (const format of ['preference', '']) {
    await answers.nth(0).getByRole('button', { name: 'Add to dataset' }).click();
    if (format !== '') await page.getByLabel('Row format').selectOption(format);
    assert.equal(await axeViolations(page), []);
    await add.click();
    await add.waitFor({ state: 'hidden' });
  }
  await sees(page, 'Added to answers.jsonl, which has 2 rows now.');
  const row = {
    prompt: 'My parcel is broken.',
    chosen: 'Shipping: it is on its way.',
    rejected: 'It is on its way.',
  };
  assert.equal((await service.call('GET', '/api/datasets/answers.jsonl')).body.rows, [row, row]);
  await service.call('DELETE', '/api/datasets/answers.jsonl');

  // Each chat is kept.
  await page.getByRole('button', { name: 'New chat' }).click();
  await page.locator('.suggestions').waitFor();
  await page.reload();
  await page.locator('.suggestions').waitFor();
  await page.getByLabel('Keep chat history').uncheck();
  await sees(page, 'each prompt stands alone');
  await ask('Hello', 1);
  await ask('Hello again', 2);
  assert.equal(requests.slice(4).map(rolesOf), ['system user', 'system user']);
  const chats = page.getByLabel('Chat', { exact: true });
  await chats.selectOption({ label: 'My parcel has not come.' });
  await until(async () => (await answers.count()) === 1, 'the first chat is shown');
  assert.equal(await axeViolations(page), []);
  const more = async (name: string) => {
    await page.getByText('More', { exact: true }).click();
    await page.getByRole('button', { name }).click();
  };
  await more('Rename chat');
  await page.getByLabel('Name of the chat').fill('Parcels');
  await page.getByLabel('Name of the chat').press('Enter');
  const [exported] = await Promise.all([page.waitForEvent('download'), more('Export chat')]);
  assert.is(exported.suggestedFilename(), 'Parcels.json');
  const { turns } = JSON.parse(readFileSync(await exported.path(), 'utf8'));
  assert.equal(
    turns.map(({ prompt: asked }: Json) => asked),
    [
      'My parcel has not come.',
      '<b>And</b> now?',
      '<b>And</b> now?',
      ...Array(2).fill('My parcel is broken.'),
    ],
  );
  const titles = async () => (await chats.locator('option').allTextContents()).join();
  await more('Delete chat');
  await page.locator('.suggestions').waitFor();
  await until(async () => (await titles()) === 'New chat,Hello', 'it is deleted');
  await page.getByRole('button', { name: 'Undo' }).click();
  await until(async () => (await titles()) === 'Parcels,Hello', 'it is there again');
  await until(async () => (await answers.count()) === 1, 'the first chat is shown again');
  assert.equal(faults, []);
});

test('fields are shown when the model is known, so that nothing moves what has the focus', async () => {
  const { page, context, faults } = await openPage(service.url, '/models');
  let release = () => {};
  const held = new Promise<void>((done) => {
    release = done;
  });
  await page.route('**/lineage', async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(`${service.url}/playground/${chatId}`);
  await page.locator('aside .skeleton').first().waitFor();
  assert.is(await page.getByLabel('Seed').count(), 0);
  release();
  await page.getByLabel('Seed').waitFor();
  assert.is(await page.locator('aside .skeleton').count(), 0);
  assert.is(await page.getByLabel('System prompt').count(), 1);
  assert.equal(faults, []);
  await context.close();
});

test('two to four sides answer one prompt, say what they are, and stop together', async () => {
  const { page, faults } = await openPage(service.url, `/playground/${chatId}`);
  const requests = requestsOf(page);
  const prompt = page.getByLabel('Prompt', { exact: true });
  await page.getByLabel('Max new tokens').fill('8');
  await page.getByLabel('Temperature').fill('0');
  await freshChat(page);
  await page.getByRole('link', { name: 'Compare', exact: true }).click();
  assert.is(await page.getByLabel('Version B').inputValue(), 'base');
  assert.is(new URL(page.url()).pathname, `/playground/${chatId}/compare`);
  await page.getByLabel('Version A').selectOption({ label: 'Checkpoint at step 28' });
  assert.is(await page.getByLabel('Adapter strength').count(), 1, 'that of the base cannot be set');
  await page.getByLabel('Adapter strength A').fill('1.5');
  await prompt.fill('My parcel has not come.');
  await prompt.press('Enter');
  await answered(page, 2);
  assert.equal(
    requests.map(({ checkpoint, scale, as_base }) => [checkpoint, scale, as_base]),
    [
      [28, 1.5, undefined],
      [undefined, undefined, true],
    ],
  );
  assert.equal(
    (await page.locator('.answer .eyebrow').allTextContents()).map((text) => text.trim()),
    [
      'A · llama-chatml-support · Checkpoint at step 28 · strength 1.50',
      'B · llama-chatml-support · Base model',
    ],
  );
  await sees(page, /Both answers are the same|is marked|are marked|little in common/);
  assert.equal(await appearanceFaults(page, 'playground-pair'), []);

  // Without its strength, the model answers as its base does.
  await page.getByRole('button', { name: 'New chat' }).click();
  await page.getByLabel('Version A').selectOption({ index: 0 });
  await page.getByLabel('Adapter strength A').fill('0');
  await prompt.fill('My parcel has not come.');
  await prompt.press('Enter');
  await sees(page, 'Both answers are the same.');
  await page.getByLabel('Adapter strength A').fill('1');
  requests.splice(0);
  await page.getByLabel('Version B').selectOption({ label: 'Q8_0 file' });
  await page.getByRole('button', { name: 'Regenerate' }).click();
  await until(() => requests.length === 2, 'both are asked again');
  await answered(page, 2);
  assert.equal(
    requests.splice(0).map(({ file }) => file),
    [undefined, 'Q8_0'],
  );

  // Another model, which has no chat template.
  await page.getByLabel('Model B').selectOption(questionId);
  // Requests that get no answer: both sides wait until they are stopped.
  await page.route('**/v1/chat/completions', () => undefined);
  await prompt.fill('Where is it?');
  await prompt.press('Enter');
  await until(async () => (await page.getByText('generating…').count()) === 2, 'both sides answer');
  await page.getByRole('button', { name: 'Stop' }).click();
  await until(async () => (await page.getByText('stopped').count()) === 2, 'both sides are stopped');
  assert.equal(
    requests.map(({ model }) => model),
    [chatId, questionId],
  );
  assert.equal(requests.map(rolesOf), ['user assistant user', 'user']);
  await page.reload();
  await until(async () => (await page.locator('.exchange').count()) === 2, 'a refresh lost nothing');
  assert.is(await page.getByText('stopped').count(), 2);

  // Two more versions, of which each has its own beginning.
  await page.unroute('**/v1/chat/completions');
  const another = page.getByRole('button', { name: 'Compare another version' });
  await page.getByLabel('Model B').selectOption('');
  await another.click();
  await page.getByLabel('Version C').waitFor();
  await another.click();
  // One that has answered before.
  await page.getByLabel('Version D').selectOption({ label: 'Checkpoint at step 28' });
  assert.is(await another.count(), 0, 'four is the most');
  await page.getByRole('button', { name: 'New chat' }).click();
  await prompt.fill('My parcel has not come.');
  await prompt.press('Enter');
  await answered(page, 4);
  const names = page.locator('.answer .eyebrow');
  assert.equal(
    (await names.allTextContents()).map((text) => text.trim()),
    [
      'A · llama-chatml-support · Fine-tuned',
      'B · llama-chatml-support · Base model',
      'C · llama-chatml-support · Q8_0 file',
      'D · llama-chatml-support · Checkpoint at step 28',
    ],
  );
  await sees(page, /All answers|(are the same\.)/);
  assert.equal(await appearanceFaults(page, 'playground-four'), []);
  await page.getByRole('button', { name: 'Remove C' }).click();
  assert.is(await page.getByLabel('Version C').inputValue(), 'step:28', 'the next one moves up');
  await page.reload();
  assert.is(await page.getByLabel('Version C').inputValue(), 'step:28');
  await until(async () => (await names.count()) === 4, 'a refresh lost nothing');
  await page.getByRole('button', { name: 'Remove C' }).click();
  assert.is(await page.getByRole('button', { name: 'Remove B' }).count(), 0);
  assert.equal(faults, []);
});

test('a question has its text in a field of its own, and each stands alone', async () => {
  const { page, faults } = await openPage(service.url, `/playground/${questionId}`, { theme: 'dark' });
  await sees(page, 'This model has no chat template: each prompt stands alone.');
  await page.getByLabel('Max new tokens').waitFor();
  assert.is(await page.getByLabel('System prompt').count(), 0);
  assert.is(await page.getByLabel('Keep chat history').count(), 0);
  await page.getByLabel('Context').fill('Elif opened the shop in Turku in 1962.\n\nIt sells bread.');
  await page.getByLabel('Max new tokens').fill('8');
  const question = page.getByLabel('Question');
  for (const [index, text] of ['When was the shop opened?', 'What does it sell?'].entries()) {
    await question.fill(text);
    await question.press('Enter');
    await answered(page, index + 1);
  }
  const requests = requestsOf(page);
  await page.locator('.exchange').first().getByRole('button', { name: 'Regenerate' }).click();
  await until(() => requests.length === 1, 'an earlier question is asked again');
  await answered(page, 2);
  assert.is(rolesOf(requests[0]), 'user');
  assert.match(requests[0].messages[0].content, /sells bread\.\n\nWhen was the shop opened\?$/);
  await question.press('ArrowUp');
  await until(async () => (await question.inputValue()) === 'What does it sell?', 'the question is recalled');
  await page.reload();
  assert.match(await page.getByLabel('Context').inputValue(), 'It sells bread.');
  assert.equal(await axeViolations(page), []);
  await keepPicture(page, 'playground-questions-dark-1280');
  assert.equal(faults, []);
});

test('the page of a model has the base URL and requests that work', async () => {
  const { page, context, faults } = await openPage(service.url, `/models/${chatId}`);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await sees(page, `${service.url}/v1`);
  const copied: string[] = [];
  for (const language of ['curl', 'Python', 'JavaScript']) {
    const card = page.getByRole('region', { name: 'Use with OpenAI’s libraries' });
    const copy = card.getByRole('button', { name: `Copy ${language}` });
    if (!(await copy.isVisible())) await card.getByText(language, { exact: true }).click();
    const before = await clipboard(page);
    await copy.click();
    await until(async () => (await clipboard(page)) !== before, `${language} is in the clipboard`);
    copied.push(await clipboard(page));
  }
  assert.equal(await axeViolations(page), []);
  const [curl, python, javascript] = copied as [string, string, string];
  const python3 = join(root, 'trainer', '.venv', 'bin', 'python');
  const ran = await Promise.all([
    run('sh', ['-c', curl]),
    run(python3, ['-c', python]),
    run(process.execPath, ['--input-type=module', '-e', javascript], { cwd: root }),
  ]);
  const [first, ...others] = ran.map(({ stdout }) => stdout);
  assert.type(JSON.parse(first as string).choices[0].message.content, 'string');
  for (const stdout of others) assert.match(stdout, /\n$/);
  assert.equal(faults, []);
});

test('a model is pushed to the hub once, however often the button is pressed', async () => {
  const { page, faults } = await openPage(service.url, `/models/${chatId}`);
  await sees(page, 'with a chat template');
  const push = page.getByRole('button', { name: 'Push', exact: true });
  // A hub that was out of reach can be tried again.
  hub.faults.push({ match: /whoami/, times: 1, how: { redirect: 'http://elsewhere.test' } });
  await page.getByRole('button', { name: 'Push to the hub…' }).click();
  await sees(page, 'The hub could not be asked');
  assert.ok(await push.isDisabled());
  await page.getByLabel('Repository').fill('stranger/tuned');
  await until(() => push.isEnabled(), 'it can be tried');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Push to the hub…' }).click();
  // The account is proposed as the owner once it is known, which would be in the middle of what is typed.
  await sees(page, 'it belongs to alice');
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
  await page.getByRole('link', { name: 'Trained', exact: true }).click();
  await sees(page, '2 of 2');
  await page.goBack();
  await sees(page, 'Lineage');
  assert.equal(faults, []);
});

test('a hub model is looked up while it is typed, and the page says if it is unavailable', async () => {
  hub.addModel('alice/open', tinyModel('llama'));
  const { page, faults } = await openPage(service.url, '/training');
  await page.getByLabel('Model', { exact: true }).selectOption('Path or hub ID…');
  const name = page.getByLabel('Hub ID or folder');
  await name.pressSequentially('alice/none', { delay: 20 });
  await sees(page, 'This model does not exist, or is private or gated');
  await sees(page, /accept its terms on the hub/);
  assert.is(await name.getAttribute('aria-invalid'), 'true');
  await name.fill('alice/open');
  await sees(page, 'Model found');

  // The estimate follows what is edited.
  await page.getByLabel('Dataset', { exact: true }).selectOption('support.jsonl');
  const needed = page.locator('.estimate .meter').first();
  await needed.waitFor();
  const before = await needed.textContent();
  // A larger one takes no more memory: rows are computed in parts of so many tokens.
  await page.getByLabel('Batch size', { exact: true }).fill('1');
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

test('a base model of this machine is chosen and answers, alone and beside a trained one', async () => {
  const name = `base:${tinyModel('llama', 'chatml')}`;
  const { page, faults } = await openPage(service.url, `/playground/${chatId}`);
  const requests = requestsOf(page);
  const group = page.getByLabel('Model', { exact: true }).locator('optgroup[label="Base models"] option');
  await group.first().waitFor({ state: 'attached' });
  await page.getByLabel('Model', { exact: true }).selectOption(name);
  await sees(page, 'Enter a prompt');
  assert.is(new URL(page.url()).pathname, `/playground/${encodeURIComponent(name)}`);
  await page.getByLabel('System prompt').waitFor();
  assert.is(await page.getByRole('link', { name: 'About this model' }).count(), 0);
  assert.is(await page.getByText('Answers are made as those of the verdict').count(), 0);
  await page.getByLabel('Max new tokens').fill('4');
  await page.getByLabel('Prompt', { exact: true }).fill('My parcel has not come.');
  await page.keyboard.press('Enter');
  await answered(page, 1);
  await sees(page, 'Base model');
  assert.is(requests[0].model, name);
  assert.equal(await axeViolations(page), []);
  assert.equal(await appearanceFaults(page, 'playground-base'), []);
  await page.getByRole('link', { name: 'Compare', exact: true }).click();
  await page.getByLabel('Model B').selectOption(chatId);
  await page.getByLabel('Prompt', { exact: true }).fill('And now?');
  await page.keyboard.press('Enter');
  await answered(page, 3);
  assert.equal(
    requests.slice(1).map(({ model }) => model),
    [name, chatId],
  );
  await page.getByRole('link', { name: 'Chat', exact: true }).click();
  assert.is(new URL(page.url()).pathname, `/playground/${encodeURIComponent(name)}`);
  assert.is(await page.getByLabel('Model B').count(), 0);
  await page.goto(`${service.url}/playground/${encodeURIComponent('base:owner/missing')}`);
  await sees(page, 'Model not found');
  assert.equal(faults, []);
});

test('what is being made so that models answer is shown with its progress, and given up', async () => {
  const { page, faults } = await openPage(service.url, '/models');
  let isMade = true;
  // The service makes it only where several models share a base, for some seconds.
  await page.route('**/api/playground/figures', async (route) => {
    const response = await route.fetch();
    const preparing = isMade ? { kind: 'base', name: 'owner/base', progress: 0.42 } : null;
    await route.fulfill({ response, json: { ...(await response.json()), preparing } });
  });
  await page.route('**/api/playground/preparing', async (route) => {
    isMade = false;
    await route.fulfill({ json: { stopped: true } });
  });
  await page.goto(`${service.url}/playground/${chatId}`);
  await sees(page, 'Making one file of owner/base');
  const bar = page.locator('.preparing progress');
  assert.is(await bar.evaluate((one) => (one as HTMLProgressElement).value), 42);
  await sees(page, 'About this model');
  assert.equal(await appearanceFaults(page, 'playground-preparing'), []);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await until(async () => (await bar.count()) === 0, 'it is given up');
  assert.equal(faults, []);
});

test('the checkpoints of a run are asked while it goes on, and after it was stopped', async () => {
  const settings = { use_chat_template: true, save_steps: 4, save_total_limit: 10_000, max_steps: 1_000_000 };
  const changes = { model_name: tinyModel('llama', 'chatml'), ...settings };
  assert.is((await service.call('POST', '/api/start_training', quickRequest(changes))).status, 200);
  const { page, faults } = await openPage(service.url, '/training/train_3');
  await page.getByRole('link', { name: 'Try a checkpoint' }).click();
  await page.getByRole('link', { name: 'About this run' }).waitFor();
  const runs = 'optgroup[label="Runs without a model"] option';
  const choice = page.getByLabel('Model', { exact: true }).locator(runs);
  await choice.filter({ hasText: /\(train_3, running\)$/ }).waitFor({ state: 'attached' });
  const weights = page.getByLabel('Version').locator('option');
  await until(async () => (await weights.count()) > 3, 'checkpoints are added while it runs');
  assert.match((await weights.first().textContent()) ?? '', /^Checkpoint at step \d/);
  await service.call('POST', '/api/stop_training');
  await untilEnded(service);
  await until(async () => /stopped\)$/.test((await choice.textContent()) ?? ''), 'it was stopped');

  // Its answers are those of the route, which has tests of its own.
  const requests = requestsOf(page);
  await page.route('**/v1/chat/completions', () => undefined);
  await page.getByLabel('Version').selectOption({ label: 'Checkpoint at step 4' });
  await page.getByLabel('Prompt', { exact: true }).fill('My parcel has not come.');
  await page.keyboard.press('Enter');
  await sees(page, 'preparing the checkpoint…');
  const { body } = await service.call('GET', '/api/jobs/train_3');
  assert.equal(
    requests.map(({ model, checkpoint }) => [model, checkpoint]),
    [[body.model_id, 4]],
  );
  await page.getByRole('button', { name: 'Stop' }).click();
  assert.equal(await axeViolations(page), []);
  assert.equal(faults, []);
});

test('an answer that was cut at the limit goes on, or is asked for again; a stop string is named', async () => {
  const { page, faults } = await openPage(service.url, `/playground/${chatId}`);
  const requests = requestsOf(page);
  await freshChat(page);
  await page.getByLabel('Max new tokens').fill('2');
  await page.getByLabel('Temperature').fill('0');
  const prompt = page.getByLabel('Prompt', { exact: true });
  await prompt.fill('My parcel has not come.');
  await prompt.press('Enter');
  await sees(page, 'cut off at the limit of new tokens');
  const text = page.locator('.exchange .answer-text');
  const begun = (await text.textContent())?.trimEnd() ?? '';
  await page.getByRole('button', { name: 'Continue' }).click();
  await sees(page, /\b[34] tokens/);
  assert.ok(((await text.textContent()) ?? '').startsWith(begun), 'the same answer goes on');
  assert.equal(requests[1].messages.at(-1), { role: 'assistant', content: begun });
  assert.is(requests[1].continue_final_message, true);
  await page.getByRole('button', { name: 'Raise the limit' }).click();
  await until(() => requests.length === 3, 'it is asked again');
  await answered(page, 1);
  assert.equal(
    requests.map(({ max_tokens, messages }) => [max_tokens, messages.length]),
    [
      [2, 1],
      [2, 2],
      [4, 1],
    ],
  );
  assert.is(await page.getByLabel('Max new tokens').inputValue(), '4');
  const whole = (await text.textContent()) ?? '';
  await page.getByLabel('Max new tokens').fill('40');
  await page.getByLabel('Stop strings').fill(whole.slice(1, 3));
  await page.getByRole('button', { name: 'Regenerate' }).click();
  await sees(page, `Stopped at ‘${whole.slice(1, 3)}’`);
  assert.is(await page.getByRole('button', { name: 'Continue' }).count(), 0);

  // A schema is kept to, and nothing is sent while it is none.
  await page.getByLabel('Stop strings').fill('');
  await page.getByLabel('JSON schema').fill('{"type":');
  await sees(page, 'nothing is sent until it is');
  const sent = requests.length;
  await page.getByRole('button', { name: 'Regenerate' }).click();
  const schema = { type: 'object', required: ['urgent'], properties: { urgent: { type: 'boolean' } } };
  await page.getByLabel('JSON schema').fill(JSON.stringify(schema));
  await page.getByRole('button', { name: 'Regenerate' }).click();
  await page.locator('.json-view').getByText('urgent').waitFor();
  assert.is(requests.length, sent + 1);
  assert.equal(requests.at(-1).response_format.json_schema.schema, schema);
  assert.equal(faults, []);
});

test.run();
