/** Names, notes and tags of runs and models on the page. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { line, makeArtifacts, makeJobFolder } from '../jobs/made-folders.ts';
import { endAll, startService, type TestService, temporaryFolder, until } from '../service.ts';
import { axeViolations, closeBrowser, keepPictures, openPage, sees, sidewaysPixels } from './browser.ts';

let service: TestService;

test.before(async () => {
  const dataDir = temporaryFolder();
  const run = [line('hello'), line('phase'), line('metric')];
  makeArtifacts(makeJobFolder(dataDir, 1, [...run, line('artifact'), line('done')]));
  makeJobFolder(dataDir, 2, run);
  makeJobFolder(dataDir, 3, run);
  service = await startService({ dataDir });
  await until(
    async () => (await service.call('GET', '/api/jobs?state=completed,interrupted')).body.total === 3,
    'the jobs have ended',
  );
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

const defaultName = 'support · 3 epochs · 2e-4';

test('a run gets a name, tags and notes by keyboard, which stay, and its model follows', async () => {
  const { page, faults } = await openPage(service.url, '/training/train_1');
  const heading = page.getByRole('heading', { level: 1 });
  await page.getByRole('heading', { level: 1, name: defaultName }).waitFor();
  const edit = page.getByRole('button', { name: 'Edit name, tags and notes' });
  await edit.focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  const name = dialog.getByLabel('Name');
  await until(async () => name.evaluate((box) => box === document.activeElement), 'the name has the focus');
  assert.is(await name.inputValue(), defaultName);

  // A refusal names its field, and what was typed stays.
  await dialog.getByLabel('Tags').fill(Array.from({ length: 21 }, (_, index) => `t${index}`).join());
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.locator('#identity-tags-fault', { hasText: 'at most 20 tags.' }).waitFor();
  assert.is(await dialog.getByLabel('Tags').getAttribute('aria-invalid'), 'true');
  assert.equal(await axeViolations(page), []);

  await dialog.getByLabel('Tags').fill(' ready, <b>bold</b>,ready ');
  await dialog.getByLabel('Notes').fill('First line\n<i>second</i> line');
  await name.fill('Replies of Ωctober <img src=x>');
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('heading', { level: 1, name: 'Replies of Ωctober <img src=x>' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'Replies of Ωctober <img src=x>' }).waitFor();
  assert.equal(await page.locator('.page-head .tag').allTextContents(), ['ready', '<b>bold</b>']);
  assert.is(await page.locator('.page-head .identity-notes').textContent(), 'First line\n<i>second</i> line');
  await keepPictures(page, 'identity-run');

  await page.getByRole('link', { name: 'View model' }).click();
  await page.getByRole('heading', { level: 1, name: 'Replies of Ωctober <img src=x>' }).waitFor();
  await sees(page, 'Its name in the API is');
  await edit.click();
  await name.fill('Shipped');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { level: 1, name: 'Shipped' }).waitFor();
  await page.setViewportSize({ width: 360, height: 900 });
  await edit.click();
  await dialog.waitFor();
  assert.is(await sidewaysPixels(page), 0);
  // Empty is the default name again.
  await name.fill('');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { level: 1, name: defaultName }).waitFor();
  assert.is(await heading.count(), 1);
  assert.equal(await axeViolations(page), []);
  assert.equal(faults, []);
});

test.run();
