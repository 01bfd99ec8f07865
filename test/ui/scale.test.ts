import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService, type TestService, temporaryFolder, until } from '../service.ts';
import { axeViolations, closeBrowser, openPage, sees } from './browser.ts';
import { storeMany } from './many.ts';

const modelCount = 10_000;
const steps = 100_000;
const runCount = 10_000;

let service: TestService;

test.after(async () => {
  await closeBrowser();
  await endAll();
});

test.before(async () => {
  const dataDir = temporaryFolder();
  await (await startService({ dataDir })).end();
  storeMany(dataDir, { runs: runCount, models: modelCount, steps });
  service = await startService({ dataDir });
});

test('ten thousand models can be searched, and sorted by any column', async () => {
  const { page, faults } = await openPage(service.url, '/models');
  await sees(page, '10,000 of 10,000');
  assert.ok((await page.locator('tbody tr').count()) <= 200, 'a page of rows is drawn, not all');
  await page.getByLabel('Search models').fill('tuned-9876');
  await sees(page, '1 of 10,000');
  await page.getByRole('link', { name: 'tuned-9876' }).waitFor();
  await page.getByLabel('Search models').fill('base-3');
  await sees(page, '1,429 of 10,000');
  await page.getByRole('button', { name: 'Size' }).click();
  await page.locator('th[aria-sort="ascending"]').waitFor();
  assert.match((await page.locator('tbody tr').first().textContent()) ?? '', 'tuned-3');
  await page.getByRole('button', { name: 'Size' }).click();
  await page.locator('th[aria-sort="descending"]').waitFor();
  // The address holds the search and the order: a refresh keeps both.
  await page.reload();
  await sees(page, '1,429 of 10,000');
  assert.match((await page.locator('tbody tr').first().textContent()) ?? '', /tuned-999\d/);
  const before = await page.locator('tbody tr').count();
  await page.locator('.more').scrollIntoViewIfNeeded();
  await until(async () => (await page.locator('tbody tr').count()) > before, 'more rows are drawn');
  // A link that is half under the head of the page is measured by its half.
  await page.evaluate(() => scrollTo(0, 0));
  assert.equal(await axeViolations(page), []);
  assert.equal(faults, []);
});

test('ten thousand runs are searched and filtered by the service, and read as far as one scrolls', async () => {
  const { page, faults } = await openPage(service.url, '/nowhere');
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await page.goto(`${service.url}/training/runs`);
  await sees(page, '50 of 10,000');
  const rows = page.locator('tbody tr');
  const more = page.getByRole('button', { name: 'Load more' });
  await more.scrollIntoViewIfNeeded();
  await until(async () => (await rows.count()) > 50, 'older runs are read');
  // The oldest of all.
  const search = page.getByLabel('Search runs');
  await search.fill('a.jsonl');
  await page.locator('tbody a[href="/training/train_1"]').waitFor();
  await sees(page, '1 of 1');
  await search.fill('train_9876');
  await page.locator('tbody a[href="/training/train_9876"]').waitFor();
  await page.waitForURL(/q=train_9876$/);
  assert.not.ok(asked.includes('/api/catalog'), 'the models are read where they are shown');
  // What is still being typed is in the history before the page that comes next.
  await search.fill('train_987');
  await page.locator('tbody a').first().click();
  await page.locator('h1', { hasText: /./ }).waitFor();
  await page.goBack();
  await page.waitForURL(/q=train_987$/);
  assert.is(await search.inputValue(), 'train_987');
  await search.fill('');
  await sees(page, '50 of 10,000');
  await page.getByLabel('Filter by state').selectOption('stopped');
  await sees(page, '1 of 1');
  await page.getByLabel('Filter by dataset').selectOption('b.jsonl');
  await sees(page, 'No matching runs');
  await page.reload();
  await sees(page, 'No matching runs');
  assert.equal(await axeViolations(page), []);
  assert.equal(faults, []);
});

test('the palette finds among twenty thousand by keys alone', async () => {
  const { page, faults } = await openPage(service.url, '/nowhere');
  await sees(page, 'Page not found');
  const field = page.getByRole('combobox', { name: 'Search pages, actions' });
  const options = page.getByRole('option');
  const active = page.locator('[role="option"][aria-selected="true"]');
  const activeIs = (text: string) =>
    until(async () => (await active.textContent())?.includes(text) === true, `${text} is active`);
  const open = async () => {
    await page.keyboard.press('Control+k');
    await page.getByText(/^\d[\d,]* results · the first 50 are shown$/).waitFor();
  };
  await open();
  assert.is(await options.count(), 50);
  await activeIs('New training');
  await page.keyboard.press('ArrowUp');
  await options.last().and(active).waitFor();
  await page.keyboard.press('ArrowDown');
  await activeIs('New training');
  await page.keyboard.press('End');
  await options.last().and(active).waitFor();
  await page.keyboard.press('Home');
  await options.first().and(active).waitFor();
  assert.is(await field.getAttribute('aria-activedescendant'), await active.getAttribute('id'));
  await field.fill('tuned-9876');
  await page.getByText('1 result', { exact: true }).waitFor();
  assert.equal(await axeViolations(page), []);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/models\/model-9876$/);
  await page.locator('h1:focus').waitFor();

  // Older than all that the page has read.
  await open();
  await field.fill('train_4321');
  await page.getByRole('option', { name: 'train_4321' }).click();
  await page.waitForURL(/\/training\/train_4321$/);
  await open();
  await field.fill('no such thing');
  await sees(page, 'Nothing found');
  assert.is(await field.getAttribute('aria-expanded'), 'false');
  assert.equal(await axeViolations(page), []);
  await page.keyboard.press('Enter');
  await page.keyboard.press('Control+k');
  await field.waitFor({ state: 'detached' });
  await open();
  // Keys that close and open it, pressed at once.
  await page.evaluate(() => {
    for (const _ of [1, 2]) {
      const key = new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true, cancelable: true });
      (document.activeElement ?? document.body).dispatchEvent(key);
    }
  });
  await page.getByText(/^\d[\d,]* results · the first 50 are shown$/).waitFor();
  await field.fill('dark');
  await activeIs('Dark theme');
  await page.keyboard.press('Enter');
  await page.locator('html[data-theme="dark"]').waitFor({ state: 'attached' });
  assert.equal(faults, []);
});

test('a run of a hundred thousand steps is drawn, read by key, zoomed and tabled', async () => {
  const { page, faults } = await openPage(service.url, '/training/train_1');
  await sees(page, 'of 100,000 steps.');
  const area = page.locator('.chart-wide .chart-area');
  await area.focus();
  await page.keyboard.press('ArrowLeft');
  const at = () => page.locator('.chart-wide .legend-step dd').textContent();
  await until(async () => (await at()) !== '100,000', 'the pointer is at the step before');
  for (const key of ['+', '+', 'Shift+ArrowLeft', '-', '0']) await page.keyboard.press(key);
  await page.locator('.chart-wide summary').click();
  await until(
    async () => (await page.locator('.chart-wide tbody tr').count()) > 100,
    'the table has rows of the whole run',
  );
  await page.getByLabel('Log scale').check();
  await page.reload();
  await sees(page, 'of 100,000 steps.');
  assert.ok(await page.getByLabel('Log scale').isChecked());
  assert.equal(await axeViolations(page), []);
  assert.equal(faults, []);
});

test.run();
