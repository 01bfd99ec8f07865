/** Names, notes and tags of runs and models on the page. */
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { line, makeArtifacts, makeJobFolder } from '../jobs/made-folders.ts';
import { endAll, startService, type TestService, temporaryFolder, until } from '../service.ts';
import {
  axeViolations,
  closeBrowser,
  isLive,
  keepPictures,
  type OpenPage,
  openPage,
  sees,
  setWidth,
  sidewaysPixels,
} from './browser.ts';

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
  await setWidth(page, 360);
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

test('runs are found by name, tag and state; columns and several at once are chosen', async () => {
  await service.call('PATCH', '/api/jobs/train_2', {
    display_name: 'Größer',
    tags: ['ready'],
    notes: 'A note',
  });
  const { page, faults } = await openPage(service.url, '/training/runs');
  await sees(page, '3 of 3');
  const rows = page.locator('tbody tr');
  const search = page.getByLabel('Search runs');
  await search.fill('GRÖẞER note');
  await sees(page, '1 of 1');
  assert.match((await rows.first().textContent()) ?? '', /Größer\s+train_2/);
  await search.fill('');
  await page.getByLabel('Filter by tag').selectOption('ready');
  await page.getByLabel('Filter by state').selectOption('interrupted');
  await sees(page, '1 of 1');
  await page.waitForURL(/state=interrupted/);
  await page.getByLabel('Filter by state').selectOption('');
  await page.getByLabel('Filter by tag').selectOption('');
  await sees(page, '3 of 3');

  await page.locator('summary', { hasText: 'Columns' }).click();
  await page.getByLabel('Notes').check();
  await page.getByLabel('Loss', { exact: true }).uncheck();
  await page.getByRole('columnheader', { name: 'Notes' }).waitFor();
  assert.equal(await axeViolations(page), []);
  await page.reload();
  await page.getByRole('columnheader', { name: 'Notes' }).waitFor();
  assert.is(await page.getByRole('button', { name: 'Loss', exact: true }).count(), 0);

  await page.getByLabel('Select train_2', { exact: true }).check();
  await page.getByLabel('Select train_3', { exact: true }).check();
  await sees(page, '2 runs selected');
  await page.getByRole('button', { name: 'Tag…' }).click();
  const dialog = page.getByRole('dialog');
  assert.equal(await axeViolations(page), []);
  await dialog.getByLabel('Tags to add').fill('kept, both');
  await dialog.getByLabel('Tags to remove').fill('ready');
  await dialog.getByRole('button', { name: 'Change tags' }).click();
  await dialog.waitFor({ state: 'detached' });
  await rows.nth(1).locator('.tag', { hasText: 'kept' }).waitFor();
  const tags = async (id: number) => (await service.call('GET', `/api/jobs/train_${id}`)).body.tags;
  assert.equal(
    [await tags(2), await tags(3)],
    [
      ['kept', 'both'],
      ['kept', 'both'],
    ],
  );
  await keepPictures(page, 'identity-runs');

  await page.getByLabel('Select all shown runs').check();
  await sees(page, '3 runs selected');
  await page.getByRole('button', { name: 'Compare', exact: true }).click();
  await page.getByRole('link', { name: 'Größer' }).waitFor();
  await page.goBack();
  await page.getByLabel('Select train_3', { exact: true }).check();
  // One that another has deleted is told by its name.
  assert.is((await service.call('DELETE', '/api/jobs/train_3')).status, 200);
  await page.getByRole('button', { name: 'Delete…' }).click();
  await dialog.getByRole('button', { name: 'Delete 1 run' }).click();
  await dialog.getByText(/train_3.*There is no job train_3/).waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.equal(faults, []);
});

test('a name that is changed elsewhere reaches every open page', async () => {
  const [{ model_id: modelId }] = (await service.call('GET', '/api/catalog')).body.models;
  await service.call('PATCH', '/api/jobs/train_1', { display_name: null });
  const paths = ['/training/runs', '/training/train_1', '/models', `/models/${modelId}`];
  const opened = await Promise.all(paths.map((path) => openPage(service.url, path)));
  for (const { page } of opened) {
    await isLive(page);
    await sees(page, defaultName);
  }
  // The run's model follows, which had its name.
  await service.call('PATCH', '/api/jobs/train_1', { display_name: 'Elsewhere', tags: ['far'] });
  for (const { page } of opened) await sees(page, 'Elsewhere');
  await service.call('PATCH', `/api/catalog/${modelId}`, { display_name: 'Its own', notes: 'From afar' });
  for (const { page } of opened.slice(2)) await sees(page, 'Its own');
  await sees((opened[3] as OpenPage).page, 'From afar');
  await sees((opened[1] as OpenPage).page, 'Elsewhere');
  for (const { context, faults } of opened) {
    assert.equal(faults, []);
    await context.close();
  }
});

test('a run is repeated with all of its settings, and what no longer exists is told', async () => {
  const { page, faults } = await openPage(service.url, '/training/train_2');
  await page.getByRole('button', { name: 'Duplicate' }).click();
  await page.waitForURL(/\/training$/);
  await sees(page, 'Filled with the settings of');
  await sees(page, /Its dataset\s+support\.jsonl\s+no longer exists here/);
  await sees(page, /Its validation dataset\s+held-out\.jsonl\s+no longer exists here/);
  const { request } = (await service.call('GET', '/api/jobs/train_2')).body;
  const saved = async (): Promise<Record<string, unknown>> => {
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export settings' }).click();
    return JSON.parse(readFileSync(await (await download).path(), 'utf8'));
  };
  const wanted = Object.fromEntries(Object.entries(request).filter(([, value]) => value !== null));
  // Settings of other strategies are left out of a request, and what no longer exists is not chosen.
  const { beta: _beta, validation_dataset: _gone, ...rest } = wanted;
  const own = { ...rest, dataset: '' };
  assert.equal(await saved(), own);

  const choose = (content: unknown) =>
    page.getByLabel('Import settings…').setInputFiles({
      name: 'mine.json',
      mimeType: 'application/json',
      buffer: Buffer.from(typeof content === 'string' ? content : JSON.stringify(content)),
    });
  await choose({
    learning_rate: 2,
    epochs: 3,
    bf16: 'yes',
    lora_r: 1.5,
    export: { quantizations: ['Q1'] },
    dataset: 7,
  });
  const refusal = page.locator('.draft-origin [role="alert"]');
  await refusal.waitFor();
  assert.equal(
    await refusal
      .locator('li')
      .evaluateAll((items) => items.map((item) => item.textContent?.trim().split(/\s/)[0])),
    ['learning_rate', 'epochs', 'bf16', 'lora_r', 'export', 'dataset'],
  );
  assert.equal(await axeViolations(page), []);
  assert.equal(await saved(), own, 'a refused file changes nothing');
  await choose('{"learning_rate": ');
  await sees(page, /The file is not JSON/);
  await choose({ ...wanted, learning_rate: 0.003, export: 'none' });
  await refusal.waitFor({ state: 'detached' });
  assert.equal(await saved(), { ...own, learning_rate: 0.003, export: 'none' });
  assert.equal(faults, []);
});

test.run();
