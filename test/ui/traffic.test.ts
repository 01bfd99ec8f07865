/** The page of kept answers: found, read, rated and corrected with the keyboard alone, made rows of, and deleted. */
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService, type TestService, temporaryFolder, until } from '../service.ts';
import { saying, storeModel } from '../stored-model.ts';
import { appearanceFaults } from './appearance.ts';
import { axeViolations, closeBrowser, keepPicture, openPage, sees, setWidth } from './browser.ts';

let service: TestService;
test.before(async () => {
  const dataDir = temporaryFolder();
  const chatTemplate = '{% for message in messages %}{{ message.content }}{% endfor %}#';
  const shape = { context: 512, layers: 1, chatTemplate };
  storeModel(dataDir, 'support', undefined, { ...shape, next: saying('Shipng: yes') });
  storeModel(dataDir, 'billing', undefined, { ...shape, next: saying('- Biln') });
  service = await startService({ dataDir });
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

async function ask(model: string, question: string, more: object = {}): Promise<string> {
  const messages = [
    { role: 'system', content: 'Answer in a word.' },
    { role: 'user', content: question },
  ];
  const body = { model, messages, max_tokens: 20, temperature: 0, store: true, ...more };
  const { status, body: answer } = await service.call('POST', '/v1/chat/completions', body);
  assert.is(status, 200, JSON.stringify(answer));
  return answer.id;
}
const kept = async (id: string) => (await service.call('GET', `/v1/chat/completions/${id}`)).body;
const ratedAs = (id: string, rating: string | null) =>
  until(async () => (await kept(id)).feedback.rating === rating, `${id} is rated ${rating}`);
const links = (page: Page) => page.locator('.kept-list a');
const questions = (page: Page) => page.locator('.kept-list .kept-line:first-child').allInnerTexts();
const shows = (page: Page, wanted: readonly string[]) =>
  until(async () => (await questions(page)).join() === wanted.join(), `the list has ${wanted.join()}`).catch(
    async (cause) => {
      throw new Error(`The list has ${(await questions(page)).join()}`, { cause });
    },
  );

test('without an answer the page says how they are kept', async () => {
  const { page, context, faults } = await openPage(service.url, '/playground');
  await page.getByRole('link', { name: 'Traffic', exact: true }).click();
  await sees(page, 'No answers are kept yet');
  await sees(page, /kept for 30 days and up to 1\.00 GB/);
  await sees(page, /"store":true/);
  assert.equal(await appearanceFaults(page, 'traffic-empty'), []);
  assert.equal(faults, []);
  await context.close();
});

test('kept answers are listed, searched and filtered, and the address says by what', async () => {
  for (let index = 0; index < 3; index += 1) await ask('support', `Parcel ${index} is late`);
  await ask('billing', 'Send me the invoice', { metadata: { topic: 'billing' } });
  const { page, context, faults } = await openPage(service.url, '/traffic');
  const all = ['Send me the invoice', 'Parcel 2 is late', 'Parcel 1 is late', 'Parcel 0 is late'];
  await shows(page, all);
  await sees(page, /4 answers, .* Answers are kept for 30 days/);
  assert.match(
    await links(page).nth(1).innerText(),
    /Parcel 2 is late\s+Shipng: yes\s+just now\s+support\s+\d+ ms\s+\d+ tokens/,
  );

  await page.keyboard.press('/');
  await page.keyboard.type('parcel jdx');
  assert.is(await page.getByLabel('Search answers').inputValue(), 'parcel jdx');
  await sees(page, 'No matching answers');
  await page.getByLabel('Search answers').fill('parcel');
  await shows(page, all.slice(1));
  await until(() => page.url().endsWith('/traffic?q=parcel'), 'the address has the search');
  await page.getByLabel('Search answers').fill('');
  await page.getByLabel('Filter by model').selectOption('billing');
  await shows(page, all.slice(0, 1));
  assert.match(page.url(), /\?model=billing$/);
  await page.reload();
  await shows(page, all.slice(0, 1));

  await links(page).first().click();
  const answer = page.getByRole('region', { name: 'Answer', exact: true });
  await answer.getByText('topic: billing').waitFor();
  assert.is(await answer.locator('hone-markdown li').innerText(), 'Biln', 'as the playground lays it out');
  assert.match(await answer.innerText(), /Send me the invoice[\s\S]*Asked with\s+no key/);
  await answer.getByText('System prompt').click();
  await answer.getByText('Answer in a word.').waitFor();
  assert.equal(await appearanceFaults(page, 'traffic-answer'), []);
  await page.goBack();
  await sees(page, 'No answer is chosen');
  await page.getByLabel('Filter by model').selectOption('Any model');
  await page.getByLabel('Filter by rating').selectOption('Not rated');
  await shows(page, all);
  await page.getByLabel('Filter by rating').selectOption('Corrected');
  await sees(page, 'No matching answers');
  assert.match(page.url(), /\?rating=corrected$/);
  assert.equal(faults, []);
  await context.close();
});

test('answers that are kept meanwhile are counted, and shown on demand', async () => {
  const { page, context, faults } = await openPage(service.url, '/traffic?q=meanwhile');
  await sees(page, 'No matching answers');
  await ask('support', 'Meanwhile 1');
  // An empty list shows them at once.
  await shows(page, ['Meanwhile 1']);
  await ask('support', 'Meanwhile 2');
  await ask('support', 'Meanwhile 3');
  await ask('support', 'Something else');
  await page.getByRole('button', { name: 'Show 2 new answers' }).waitFor();
  assert.equal(await questions(page), ['Meanwhile 1']);
  assert.equal(await appearanceFaults(page, 'traffic-newer'), []);
  await page.getByRole('button', { name: 'Show 2 new answers' }).click();
  await shows(page, ['Meanwhile 3', 'Meanwhile 2', 'Meanwhile 1']);
  await page.getByRole('button', { name: /new answer/ }).waitFor({ state: 'detached' });
  assert.equal(faults, []);
  await context.close();
  const { data } = (await service.call('GET', '/v1/chat/completions?limit=4&order=desc')).body;
  for (const { id } of data) await service.call('DELETE', `/v1/chat/completions/${id}`);
});

test('answers are read, rated, corrected and selected with the keyboard alone', async () => {
  const { body } = await service.call('GET', '/api/traffic');
  const [invoice, second, third] = body.answers.map(({ id }: { id: string }) => id);
  const { page, context, faults } = await openPage(service.url, '/traffic');
  await links(page).first().waitFor();
  const current = page.locator('.kept-list a[aria-current="true"]');
  const isOn = async (words: string) => {
    await current.getByText(words).waitFor();
    await page.locator('.traffic-answer .asked').getByText(words).waitFor();
  };
  await page.keyboard.press('j');
  await isOn('Send me the invoice');
  assert.ok(await current.evaluate((link) => link === document.activeElement));
  await page.keyboard.press('u');
  await ratedAs(invoice, 'up');
  await current.getByText('good').waitFor();
  await page.keyboard.press('j');
  await isOn('Parcel 2');
  await page.keyboard.press('d');
  await ratedAs(second, 'down');
  await page.keyboard.press('j');
  await isOn('Parcel 1');
  await page.keyboard.press('d');
  await ratedAs(third, 'down');
  await current.getByText('bad').waitFor();
  await page.keyboard.press('d');
  await ratedAs(third, null);
  await page.keyboard.press('k');
  await isOn('Parcel 2');

  // What is typed in the field is no shortcut.
  await page.keyboard.press('e');
  const field = page.getByLabel('Corrected answer');
  await until(() => field.evaluate((one) => one === document.activeElement), 'the field has the focus');
  assert.is(await field.inputValue(), 'Shipng: yes');
  await page.keyboard.press('Control+a');
  await page.keyboard.type('judex');
  await page.keyboard.press('Escape');
  await field.waitFor({ state: 'detached' });
  assert.is((await kept(second)).feedback.correction, null);
  await page.keyboard.press('e');
  await page.keyboard.press('Control+a');
  await page.keyboard.type('Shipping: it is on its way');
  assert.equal(await axeViolations(page), []);
  await keepPicture(page, 'traffic-correction');
  await page.keyboard.press('Control+Enter');
  await field.waitFor({ state: 'detached' });
  await current.getByText('corrected').waitFor();
  assert.equal((await kept(second)).feedback, { rating: 'down', correction: 'Shipping: it is on its way' });
  await page.locator('.traffic-answer').getByText('Shipping: it is on its way').waitFor();

  await page.keyboard.press('x');
  await sees(page, '1 selected');
  await page.keyboard.press('j');
  await isOn('Parcel 1');
  await page.keyboard.press('x');
  await sees(page, '2 selected');
  await page.keyboard.press('x');
  await sees(page, '1 selected');
  assert.equal(await appearanceFaults(page, 'traffic-selected'), []);

  // After g, a letter goes to a page.
  await page.keyboard.press('?');
  const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await dialog.getByText('Next or previous answer (in Traffic)').waitFor();
  await page.keyboard.press('u');
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('d');
  await page.getByRole('heading', { name: 'Datasets', level: 1 }).waitFor();
  assert.is((await kept(third)).feedback.rating, null);
  await page.keyboard.press('g');
  await page.keyboard.press('t');
  await links(page).first().waitFor();
  assert.equal(faults, []);
  await context.close();
});

test('rows are made of selected answers and of all, after they are counted', async () => {
  const held = [...Array(11).keys()].map((index) => ({ input: `Other question ${index}`, output: 'no' }));
  const rows = [{ input: 'send me the INVOICE', output: 'no' }, ...held];
  await service.upload('held.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'));
  for (let index = 3; index < 11; index += 1) await ask('support', `Parcel ${index} is late`);
  await ask('support', 'parcel 1 is LATE!');
  const { page, context, faults } = await openPage(service.url, '/traffic?rating=corrected');
  await shows(page, ['Parcel 2 is late']);
  await page.getByLabel('Select the answer to Parcel 2 is late').check();
  await page
    .getByRole('group', { name: 'Selected answers' })
    .getByRole('button', { name: 'Make rows…' })
    .click();
  const dialog = page.getByRole('dialog', { name: 'Make rows' });
  await dialog.getByText('Of the selected answer.').waitFor();
  await dialog.getByLabel('Format').selectOption('Labelled answers (kto)');
  await dialog.getByRole('button', { name: 'Make 1 row' }).waitFor();
  await dialog.getByLabel('Format').selectOption('Preferences (dpo)');
  await dialog.getByLabel('Name').fill('wishes');
  await dialog.getByRole('button', { name: 'Make 1 row' }).click();
  await dialog.getByText('1 row was added to wishes.jsonl, which has 1 now.').waitFor();
  await dialog.getByRole('link', { name: 'Show the dataset' }).click();
  await page.getByRole('heading', { name: 'wishes.jsonl', level: 1 }).waitFor();
  await page.goBack();

  await page.getByLabel('Filter by rating').selectOption('Any rating');
  await page.getByRole('button', { name: 'Make rows…' }).first().click();
  await dialog.getByText('Of all kept answers.').waitFor();
  await dialog.getByText('13 rows').first().waitFor();
  await dialog.getByLabel('Format').selectOption('Preferences (dpo)');
  await dialog.getByText('Left out: 12 without a correction.').waitFor();
  await dialog.getByLabel('Dataset', { exact: true }).selectOption('wishes.jsonl');
  assert.equal(await appearanceFaults(page, 'traffic-rows'), []);
  await dialog.getByLabel('Format').selectOption('Conversations (sft)');
  await dialog.getByText('1 row is nearly the same as another row').waitFor();
  await dialog.getByLabel('Leave out near duplicates').check();
  await dialog.getByText(/Left out: .*nearly the same as another/).waitFor();
  await dialog.getByLabel('Leave out near duplicates').uncheck();
  await dialog.getByLabel('Validation dataset').selectOption('held.jsonl');
  await dialog.getByText('Left out: 1 with a question of the validation dataset.').waitFor();
  await dialog.getByText('1 row has a question of held.jsonl').click();
  await dialog.getByText('100% like: send me the INVOICE').waitFor();
  assert.equal(await appearanceFaults(page, 'traffic-rows-compared'), []);
  await dialog.getByLabel('Leave out rows with a question of it').uncheck();
  await dialog.getByRole('button', { name: 'Make 13 rows' }).waitFor();
  await dialog.getByLabel('Name').fill('conversations');
  await dialog.getByRole('button', { name: 'Make 13 rows' }).click();
  await dialog.getByText('13 rows were added to conversations.jsonl').waitFor();
  await dialog.getByRole('button', { name: 'New training with it' }).click();
  await page.getByRole('heading', { name: 'New training', level: 1 }).waitFor();
  await until(
    async () => (await page.getByLabel('Dataset', { exact: true }).inputValue()) === 'conversations.jsonl',
    'the dataset is chosen',
  );
  const { body } = await service.call('GET', '/api/datasets/conversations.jsonl');
  assert.equal([body.num_examples, body.validation.valid], [13, true]);
  assert.equal(faults, []);
  await context.close();
});

test('one answer is deleted after it is confirmed, and then the next is shown', async () => {
  const { body } = await service.call('GET', '/api/traffic');
  const [first] = body.answers;
  const { page, context, faults } = await openPage(service.url, `/traffic?answer=${first.id}`);
  const remove = page.getByRole('button', { name: 'Delete…' });
  await remove.click();
  const dialog = page.getByRole('dialog', { name: 'Delete this answer?' });
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  assert.is((await kept(first.id)).id, first.id);
  await remove.click();
  assert.equal(await axeViolations(page), []);
  await dialog.getByRole('button', { name: 'Delete answer' }).click();
  await sees(page, 'The answer was deleted');
  assert.is((await service.call('GET', `/v1/chat/completions/${first.id}`)).status, 404);
  await page.locator('.kept-list a[aria-current="true"]').getByText(body.answers[1].question).waitFor();
  await sees(page, /12 answers/);
  await page.goto(`${service.url}/traffic?answer=${first.id}`);
  await sees(page, 'Answer not found');
  assert.equal(faults, []);
  await context.close();
});

test('many answers are read in pages, and a phone shows the list or an answer', async () => {
  for (let index = 0; index < 45; index += 1) await ask('support', `More ${index}`);
  const { page, context, faults } = await openPage(service.url, '/traffic');
  await links(page).first().waitFor();
  assert.is(await links(page).count(), 50);
  for (let presses = 0; presses < 51; presses += 1) {
    await page.keyboard.press('j');
    await page.locator(`.kept-list li:nth-child(${presses + 1})[data-current="yes"]`).waitFor();
  }
  assert.is(await links(page).count(), 57);
  await setWidth(page, 360);
  await page.goto(`${service.url}/traffic`);
  await links(page).first().click();
  await page.locator('.traffic-answer h2').waitFor();
  assert.is(await links(page).first().isVisible(), false);
  assert.equal(await appearanceFaults(page, 'traffic-many'), []);
  await page.getByRole('link', { name: 'All answers' }).click();
  await links(page).first().waitFor();
  assert.equal(faults, []);
  await context.close();
});

test.run();
