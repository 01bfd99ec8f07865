/** Every dialog, menu and list of choices: in both themes, at every width, and how the keyboard gets out. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { littleInstallation } from '../jobs/little-installation.ts';
import { line, makeArtifacts, makeJobFolder } from '../jobs/made-folders.ts';
import {
  endAll,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  until,
} from '../service.ts';
import { appearanceFaults } from './appearance.ts';
import { closeBrowser, openPage } from './browser.ts';
import { focused } from './keyboard.ts';

let service: TestService;
let modelId = '';

test.before(async () => {
  const dataDir = temporaryFolder();
  const run = [line('hello'), line('phase'), line('metric')];
  const adapter = line('artifact', { kind: 'adapter', path: 'artifacts/adapter', quantization: null });
  makeArtifacts(makeJobFolder(dataDir, 1, [...run, line('artifact'), adapter, line('done')]));
  makeJobFolder(dataDir, 2, run);
  const at = '2026-11-21T12:00:00.000Z';
  const evaluation = {
    ...{ id: 1, state: 'failed', error: 'The model is no longer there.', dataset: 'support.jsonl', rows: 4 },
    subject: { name: 'gone', baseModel: 'acme/tiny', modelId: null, jobId: null, checkpoint: null },
    ...{ shape: 'input-output', rowsDigest: null, figures: null, warnings: [] },
    ...{ createdAt: at, startedAt: null, endedAt: at },
  };
  mkdirSync(join(dataDir, 'evaluations'));
  writeFileSync(join(dataDir, 'evaluations', 'eval_1.json'), JSON.stringify({ evaluation, results: [] }));
  service = await startService({
    dataDir,
    env: { ...littleInstallation('polite'), HF_HUB_OFFLINE: '1', HUB_TOKEN: '' },
  });
  await service.upload('support.jsonl', supportRows());
  modelId = await until(
    async () => (await service.call('GET', '/api/models/')).body[0]?.model_id,
    'the model is adopted',
  );
  await until(
    async () => (await service.call('GET', '/api/jobs?state=completed,interrupted')).body.total === 2,
    'the jobs have ended',
  );
  const { status, body } = await service.call('POST', '/api/start_training', quickRequest());
  assert.is(status, 200, JSON.stringify(body));
  await until(
    async () => (await service.call('GET', `/api/jobs/${body.job_id}`)).body.state === 'running',
    'a run has begun',
    300_000,
  );
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

const button = (name: string) => (page: Page) => page.getByRole('button', { name, exact: true });
const choose = (page: Page) => page.getByRole('checkbox', { name: /^Select all shown/ }).check();

const dialogs: readonly {
  readonly name: string;
  readonly path: () => string;
  readonly before?: (page: Page) => Promise<void>;
  readonly opener: (page: Page) => Locator;
}[] = [
  { name: 'palette', path: () => '/', opener: button('Search') },
  { name: 'stop', path: () => '/training/train_3', opener: button('Stop…') },
  { name: 'delete-run', path: () => '/training/train_2', opener: button('Delete…') },
  { name: 'name-run', path: () => '/training/train_1', opener: button('Edit name, tags and notes') },
  { name: 'tag-runs', path: () => '/training/runs', before: choose, opener: button('Tag…') },
  { name: 'delete-runs', path: () => '/training/runs', before: choose, opener: button('Delete…') },
  { name: 'delete-models', path: () => '/models', before: choose, opener: button('Delete…') },
  { name: 'delete-model', path: () => `/models/${modelId}`, opener: button('Delete…') },
  { name: 'push', path: () => `/models/${modelId}`, opener: button('Push to the hub…') },
  { name: 'split', path: () => '/datasets/support.jsonl', opener: button('Split off a validation set…') },
  { name: 'delete-dataset', path: () => '/datasets', opener: button('Delete support.jsonl…') },
  { name: 'delete-evaluation', path: () => '/models/evaluations', opener: button('Delete eval_1') },
];

for (const { name, path, before, opener } of dialogs) {
  test(`the dialog ${name} looks right, keeps the keyboard inside, and gives it back`, async () => {
    const { page, context, faults } = await openPage(service.url, path());
    await before?.(page);
    const from = opener(page);
    await from.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    assert.equal(await appearanceFaults(page, `dialog-${name}`), []);
    for (let count = 0; count < 8; count += 1) {
      const stop = await focused(page);
      const isInside = await page.evaluate(() => document.activeElement?.closest('dialog') !== null);
      assert.ok(stop === null || isInside, stop?.name);
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await from.and(page.locator(':focus')).waitFor();
    assert.equal(faults, []);
    await context.close();
  });
}

test('the card of a push is read before it, as text and as it will look', async () => {
  const { page, context, faults } = await openPage(service.url, `/models/${modelId}`);
  await button('Push to the hub…')(page).click();
  const dialog = page.getByRole('dialog');
  await dialog.locator('summary', { hasText: 'Model card' }).click();
  await dialog.getByText('Name the repository first').waitFor();
  await dialog.getByLabel('Repository').fill('owner/name');
  const card = dialog.getByRole('region', { name: 'Model card' });
  await card.locator('.heading', { hasText: 'owner/name' }).waitFor();
  await card.locator('th', { hasText: 'Setting' }).waitFor();
  assert.not.match(await card.innerText(), 'library_name', 'what the hub indexes is no part of the text');
  assert.equal(await appearanceFaults(page, 'dialog-push-card'), []);
  await dialog.getByLabel('As text').check();
  const { body } = await service.call('GET', `/api/models/${modelId}/card?repo_name=owner/name`);
  assert.is(await card.locator('pre').textContent(), body);
  assert.equal(faults, []);
  await context.close();
});

for (const path of ['/training/runs', '/models']) {
  test(`the columns of ${path} are chosen from a menu that fits every width`, async () => {
    const { page, context, faults } = await openPage(service.url, path);
    await choose(page);
    await page.locator('summary', { hasText: 'Columns' }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Notes').waitFor();
    assert.equal(await appearanceFaults(page, `columns${path.replaceAll('/', '-')}`), []);
    assert.equal(faults, []);
    await context.close();
  });
}

test('the help menu shows the shortcuts, and the page of help what each failure code means', async () => {
  const { page, context, faults } = await openPage(service.url, '/');
  const opener = page.locator('summary[aria-label="Help"]');
  await opener.focus();
  await page.keyboard.press('Enter');
  await page.getByText(/^Hone v\d+ · Apache License 2.0$/).waitFor();
  assert.equal(await appearanceFaults(page, 'help-menu'), []);
  await page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  await page.keyboard.press('Escape');
  await opener.click();
  await page.getByRole('link', { name: 'Documentation and troubleshooting' }).click();
  await page.locator('h1:focus', { hasText: 'Help' }).waitFor();
  await page.locator('summary', { hasText: 'disk_full' }).click();
  await page.getByText('unused models in the hub cache').waitFor();
  assert.is(await page.locator('.top details[open]').count(), 0);
  assert.equal(await appearanceFaults(page, 'help'), []);
  await page.goto(`${service.url}/help?code=killed`);
  await page.locator('details[open] > summary', { hasText: 'killed' }).waitFor();
  assert.equal(faults, []);
  await context.close();
});

test('single keys are shortcuts, unless one types, a dialog is open or they are switched off', async () => {
  const { page, context, faults } = await openPage(service.url, '/training/runs');
  await page.getByLabel('Search runs').waitFor();
  await page.keyboard.press('?');
  const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await dialog.waitFor();
  assert.equal(await appearanceFaults(page, 'dialog-shortcuts'), []);
  await page.keyboard.press('n');
  await page.keyboard.press('Control+k');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.keyboard.press('/');
  const search = page.getByLabel('Search runs');
  await search.and(page.locator(':focus')).waitFor();
  await page.keyboard.type('gm?n/');
  await page.waitForURL(/\/training\/runs\?q=gm%3Fn%2F$/);
  assert.is(await search.inputValue(), 'gm?n/');
  await page.getByRole('link', { name: 'Hone, dashboard' }).focus();
  for (const key of ['g', 'x', 'm', 'Alt+n', 'Control+/']) await page.keyboard.press(key);
  assert.match(page.url(), /\/training\/runs/);
  for (const key of ['g', 'm']) await page.keyboard.press(key);
  await page.waitForURL(/\/models$/);
  await page.keyboard.press('n');
  await page.waitForURL(/\/training$/);
  await page.locator('h1:focus', { hasText: 'New training' }).waitFor();
  await page.keyboard.press('/');
  await page.getByRole('combobox', { name: 'Search pages, actions' }).waitFor();
  await page.keyboard.press('Escape');

  await page.keyboard.press('?');
  await page.getByLabel('Single-key shortcuts').uncheck();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.reload();
  await page.getByRole('heading', { name: 'New training' }).waitFor();
  for (const key of ['g', 'm', '?', '/']) await page.keyboard.press(key);
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search pages, actions' }).waitFor();
  assert.match(page.url(), /\/training$/);
  assert.equal(faults, []);
  await context.close();
});

test.run();
