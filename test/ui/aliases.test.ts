/** The page of aliases: made, moved and taken back, split between two models, promoted, deleted, with the keyboard. */
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService, type TestService, temporaryFolder, until } from '../service.ts';
import { type StoredModel, saying, storeModel } from '../stored-model.ts';
import { appearanceFaults } from './appearance.ts';
import { axeViolations, closeBrowser, openPage, sees } from './browser.ts';

let service: TestService;
const models: Record<string, StoredModel> = {};
test.before(async () => {
  const dataDir = temporaryFolder();
  const chatTemplate = '{% for message in messages %}{{ message.content }}{% endfor %}#';
  const cut = { context: 512, layers: 1, chatTemplate };
  for (const name of ['abc', 'xyz'])
    models[name] = storeModel(dataDir, name, undefined, { ...cut, next: saying(name) });
  // Without the base models of this machine, which could be chosen.
  const [cache, hub] = [temporaryFolder(), temporaryFolder()];
  service = await startService({ dataDir, env: { XDG_CACHE_HOME: cache, HF_HOME: hub } });
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

const aliasOf = async (name: string) =>
  (await service.call('GET', '/api/aliases')).body.aliases.find((one: { name: string }) => one.name === name);
const standsFor = (name: string, model: string) =>
  until(async () => (await aliasOf(name))?.model === model, `${name} stands for ${model}`);
const card = (page: Page, name: string) => page.getByRole('region', { name: `Alias ${name}` });

test('an alias is made with the keyboard, and what is wrong is said where it is', async () => {
  const { page, context, faults } = await openPage(service.url, '/models');
  await page.getByRole('link', { name: 'Aliases', exact: true }).click();
  await sees(page, 'No aliases yet');
  const make = page.getByRole('button', { name: 'Make alias' });
  assert.ok(await make.isDisabled());
  const name = page.getByLabel('Name', { exact: true });
  await name.focus();
  await page.keyboard.type('support');
  await page.keyboard.press('Tab');
  await page.keyboard.type('abc');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page
    .getByRole('alert')
    .locator('p')
    .getByText(/must be like support@live/)
    .waitFor();
  assert.equal(await axeViolations(page), []);
  await name.focus();
  await page.keyboard.press('End');
  await page.keyboard.type('@live');
  await page.keyboard.press('Enter');
  await card(page, 'support@live').getByText('Stands for abc').waitFor();
  await page.getByRole('alert').waitFor({ state: 'detached' });
  assert.is(await name.inputValue(), '');
  assert.is(await page.getByLabel('Model', { exact: true }).inputValue(), '');
  await name.fill('support@live');
  await sees(page, 'There is this alias already. Move it below.');
  assert.ok(await make.isDisabled());
  assert.equal(faults, []);
  await context.close();
});

test('an alias is moved, and moves are taken back', async () => {
  const { page, context, faults } = await openPage(service.url, '/models/aliases');
  const support = card(page, 'support@live');
  const moveToXyz = async () => {
    await support.getByRole('button', { name: 'Move…' }).click();
    const field = support.getByLabel('New model');
    assert.ok(await field.evaluate((one) => one === document.activeElement));
    assert.equal(await field.locator('optgroup option').allInnerTexts(), ['xyz']);
    await field.selectOption('xyz');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await support.getByText('Stands for xyz').waitFor();
  };
  await moveToXyz();
  await page.locator('hone-toasts').getByRole('button', { name: 'Undo' }).click();
  await support.getByText('Stands for abc').waitFor();
  assert.equal((await aliasOf('support@live')).history, []);
  assert.is(await support.getByRole('button', { name: 'Undo last move' }).count(), 0);
  await moveToXyz();
  await support.getByText('Earlier models').click();
  await support.locator('ol').getByText('abc').waitFor();
  assert.equal(await appearanceFaults(page, 'aliases-moved'), []);
  // The toast does not take back what was not its own move.
  await service.call('POST', '/api/aliases', { name: 'support@live', model: 'abc' });
  await page.locator('hone-toasts').getByRole('button', { name: 'Undo' }).click();
  await sees(page, 'support@live has changed since.');
  await support.getByText('Stands for abc').waitFor();
  await support.getByRole('button', { name: 'Undo last move' }).click();
  await support.getByRole('button', { name: 'Undo last move' }).click();
  await standsFor('support@live', 'abc');
  await support.getByRole('link', { name: 'abc' }).first().click();
  await sees(page, /Answers as\s+support@live\./);
  await page.getByRole('link', { name: 'support@live' }).click();
  await support.waitFor();
  assert.equal(faults, []);
  await context.close();
});

test('a model is made live from its page, in a new alias or one that there is', async () => {
  const { page, context, faults } = await openPage(service.url, `/models/${models.xyz?.modelId}`);
  await page.getByRole('link', { name: 'Make it live…' }).click();
  await page.waitForURL(/\/models\/aliases\?model=/);
  const chosen = page.getByLabel('Model', { exact: true });
  await until(async () => (await chosen.inputValue()) === 'xyz', 'the model is chosen');
  const support = card(page, 'support@live');
  await support.getByRole('button', { name: 'Move…' }).click();
  assert.is(await support.getByLabel('New model').inputValue(), 'xyz');
  const steps = page.getByRole('navigation', { name: 'From use to a better model' });
  assert.equal(await steps.getByRole('link').allInnerTexts(), ['Traffic', 'Rows', 'Run', 'Compare', 'Live']);
  assert.equal(await axeViolations(page), []);
  assert.equal(await appearanceFaults(page, 'aliases-wanted'), []);
  await steps.getByRole('link', { name: 'Traffic' }).click();
  await page.waitForURL(/\/traffic$/);
  assert.is(await steps.locator('[aria-current="step"]').innerText(), 'Traffic');
  assert.equal(faults, []);
  await context.close();
});

test('a split counts what is liked of both models, says which is better, and one click promotes it', async () => {
  const grader = { type: 'string_check', input: '{{sample.output_text}}', operation: 'eq', reference: 'xyz' };
  assert.is((await service.call('POST', '/api/graders', { ...grader, name: 'says-xyz' })).status, 200);
  const { page, context, faults } = await openPage(service.url, '/models/aliases');
  const support = card(page, 'support@live');
  await support.getByRole('button', { name: 'Split…' }).click();
  await support.getByLabel('Other model').selectOption('xyz');
  const share = support.getByLabel('Its share in %');
  for (const text of ['0', '1.5', 'x', '']) {
    await share.fill(text);
    await support.getByText('A whole number from 1 to 99.').waitFor();
    assert.ok(await support.getByRole('button', { name: 'Start the split' }).isDisabled());
  }
  assert.equal(await axeViolations(page), []);
  await share.fill('50');
  await support.getByLabel('Grader').selectOption('says-xyz');
  await share.press('Enter');
  await support.getByText('Both models need answers that are rated.').waitFor();
  assert.is(await page.evaluate(() => document.activeElement?.textContent?.trim()), 'Move…');
  await support.getByText('Both models need answers that are graded.').waitFor();
  assert.equal(await appearanceFaults(page, 'aliases-split-empty'), []);

  const askAndRate = async (from: number, to: number, liked: string) => {
    for (let number = from; number < to; number += 1) {
      const messages = [{ role: 'user', content: `Question ${number}` }];
      const asked = { model: 'support@live', messages, max_tokens: 8, temperature: 0, store: true };
      const { body } = await service.call('POST', '/v1/chat/completions', asked);
      const rating = body.choices[0].message.content === liked ? 'up' : 'down';
      await service.call('POST', `/v1/chat/completions/${body.id}/feedback`, { rating });
    }
  };
  await askAndRate(0, 40, 'xyz');
  // The page reads the figures again by itself.
  await support.getByText('xyz is liked more').waitFor();
  assert.match(
    await support.innerText(),
    /xyz is liked more than abc: \+\d+ points of thumbs up \(\+\d+ to \+\d+ with 95% confidence\)/,
  );
  const bars = support.getByRole('img');
  assert.is(await bars.count(), 2);
  await support.getByRole('button', { name: 'Grade 40 answers' }).click();
  await support.getByText('All answers are graded with says-xyz.').waitFor();
  await support.getByText('xyz scores higher').waitFor();
  assert.is(await bars.count(), 4);
  assert.equal(await axeViolations(page), []);
  assert.match(
    (await bars.nth(2).getAttribute('aria-label')) ?? '',
    /^100% thumbs up; between [\d.]+% and 100% with 95% confidence$/,
  );
  assert.equal(await appearanceFaults(page, 'aliases-split'), []);

  await support.getByRole('button', { name: 'Promote xyz' }).click();
  await support.getByText('Stands for xyz').waitFor();
  assert.equal([(await aliasOf('support@live')).model, (await aliasOf('support@live')).split], ['xyz', null]);
  await page.locator('hone-toasts').getByRole('button', { name: 'Undo' }).click();
  await support.getByText('Stands for abc').waitFor();

  await service.call('POST', '/api/aliases/support@live/split', { model: 'xyz', percent: 50 });
  await askAndRate(40, 80, 'abc');
  await support.getByText('abc is liked more').waitFor();
  await support.getByRole('button', { name: 'End the split' }).click();
  await sees(page, 'abc answers as support@live alone');
  assert.equal([(await aliasOf('support@live')).model, (await aliasOf('support@live')).split], ['abc', null]);
  assert.equal(faults, []);
  await context.close();
});

test('an alias of a deleted model says so, and an alias is deleted after it is confirmed', async () => {
  await service.call('DELETE', `/api/models/${models.abc?.modelId}`);
  const { page, context, faults } = await openPage(service.url, '/models/aliases', { width: 360 });
  const support = card(page, 'support@live');
  await support.getByText('Its model was deleted').waitFor();
  assert.is(await support.getByRole('button', { name: 'Split…' }).count(), 0);
  const remove = support.getByRole('button', { name: 'Delete…' });
  await remove.click();
  const dialog = page.getByRole('dialog', { name: 'Delete support@live?' });
  assert.equal(await axeViolations(page), []);
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  assert.is((await aliasOf('support@live')).model, null);
  await remove.click();
  await dialog.getByRole('button', { name: 'Delete alias' }).click();
  await sees(page, 'support@live was deleted');
  await sees(page, 'No aliases yet');
  assert.is(await aliasOf('support@live'), undefined);
  assert.equal(faults, []);
  await context.close();
});

test.run();
