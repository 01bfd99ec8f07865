/** The page of graders: one is written, tried on rows with a model, chosen for an evaluation, and deleted. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService, supportRows, type TestService, temporaryFolder } from '../service.ts';
import { storeModel } from '../stored-model.ts';
import { appearanceFaults } from './appearance.ts';
import { axeViolations, closeBrowser, openPage, sees } from './browser.ts';

let service: TestService;
test.before(async () => {
  const dataDir = temporaryFolder();
  storeModel(dataDir, 'tiny', undefined, { context: 512 });
  service = await startService({ dataDir });
  await service.upload('support.jsonl', supportRows());
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

test('keys of judges are set and removed in the settings, and never shown', async () => {
  const { page, context, faults } = await openPage(service.url, '/settings');
  const card = page.getByRole('region', { name: 'Judges' });
  await card.getByText('There are no keys of judges.').waitFor();
  await card.getByLabel('URL').fill('https://judge.example/v1');
  assert.ok(await card.getByRole('button', { name: 'Save key' }).isDisabled());
  await card.getByLabel('Key', { exact: true }).fill('sk-canary');
  await page.keyboard.press('Enter');
  await card.getByRole('row', { name: /judge\.example/ }).waitFor();
  assert.is(await card.getByLabel('Key', { exact: true }).inputValue(), '');
  assert.equal(await appearanceFaults(page, 'judge-keys'), []);
  assert.equal(await axeViolations(page), []);
  await page.reload();
  await card.getByRole('row', { name: /judge\.example/ }).waitFor();
  assert.not.match(await page.content(), 'sk-canary');
  await card.getByRole('button', { name: 'Remove the key of https://judge.example/v1' }).click();
  await card.getByText('There are no keys of judges.').waitFor();
  assert.equal(faults, []);
  await context.close();
});

test('a grader is written in the form, tried, chosen for an evaluation, and deleted', async () => {
  const { page, context, faults } = await openPage(service.url, '/models/graders');
  await sees(page, 'No graders yet');
  const store = page.getByRole('button', { name: 'Store grader' });
  const form = page.locator('hone-grader-form');
  await form.getByLabel('Name').fill('brief');
  await form.getByLabel('Type').selectOption('Length');
  await store.click();
  await sees(page, 'min or max must be set');
  await form.getByLabel('At most').fill('many');
  await sees(page, /At most: .*JSON/);
  assert.ok(await store.isDisabled());
  await form.getByLabel('At most').fill('100000');
  await store.click();
  await page.getByRole('row', { name: /brief Length/ }).waitFor();

  await form.getByLabel('Name').fill('two parts');
  await form.getByLabel('Type').selectOption('Formula of several graders');
  await form.getByLabel('Formula', { exact: true }).fill('exact / 2 + 0.25');
  await store.click();
  await page.getByRole('row', { name: /two parts Formula/ }).waitFor();
  const { body } = await service.call('GET', '/api/graders/two%20parts');
  assert.equal(body.grader.graders.exact.reference, '{{item.output}}');

  const trial = page.locator('hone-grader-test');
  await trial.getByLabel('Grader').selectOption('two parts');
  await trial.getByLabel('Dataset').selectOption('support.jsonl');
  await trial.getByLabel('Model').selectOption('tiny');
  await trial.getByRole('button', { name: 'Test on 3 rows' }).click();
  await sees(page, 'Mean 0.25');
  const scores = trial.locator('tbody tr');
  assert.is(await scores.count(), 3);
  assert.match(await scores.first().innerText(), /0\.25[\s\S]*exact 0: .* differs from /);
  assert.equal(await appearanceFaults(page, 'graders'), []);

  await page.getByRole('button', { name: 'Delete two parts' }).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('row', { name: /two parts Formula/ }).waitFor();
  await page.getByRole('button', { name: 'Delete brief' }).click();
  await sees(page, 'brief was deleted');

  await page.getByRole('link', { name: 'Evaluations', exact: true }).click();
  await page.getByLabel('Dataset').selectOption('support.jsonl');
  await page.getByLabel('Model', { exact: true }).selectOption('A base model…');
  await page.getByLabel('Base model').fill('/nowhere');
  await page.getByRole('checkbox', { name: 'two parts' }).check();
  const [request] = await Promise.all([
    page.waitForRequest((sent) => sent.method() === 'POST' && sent.url().endsWith('/api/evaluations')),
    page.getByRole('button', { name: 'Evaluate', exact: true }).click(),
  ]);
  assert.equal(request.postDataJSON().graders, ['two parts']);
  await sees(page, /does not exist/);
  assert.equal(await appearanceFaults(page, 'evaluations-graders'), []);
  await context.close();
});

test.run();
