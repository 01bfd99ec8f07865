/** Long names of runs, models and datasets, in both directions of writing, keep the pages of runs as narrow as the window. */
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Database } from '../../src/db/sqlite.ts';
import { endAll, startService, type TestService, temporaryFolder } from '../service.ts';
import { closeBrowser, openPage, sees, setWidth, sidewaysPixels } from './browser.ts';
import { storeRuns } from './stored-runs.ts';

const names = [
  'W'.repeat(200),
  'ש'.repeat(200),
  'ﷺ'.repeat(200),
  '🚀'.repeat(100),
  `owner/${'a_'.repeat(97)}`,
];
let service: TestService;

test.before(async () => {
  const dataDir = temporaryFolder();
  await (await startService({ dataDir })).end();
  storeRuns(
    dataDir,
    names.map((name) => ({ name, steps: 4, lossAt: (step) => 1 / step, evaluations: { 0: 2, 4: 1 } })),
  );
  const db = new Database(join(dataDir, 'database', 'hone.sqlite'));
  for (const [index, name] of names.entries())
    db.prepare(
      'UPDATE jobs SET model_name = ?, dataset_name = ?, tags = ?, notes = ?, acknowledged = 0 WHERE id = ?',
    ).run(name, `${name}.jsonl`, JSON.stringify([name.slice(0, 40)]), name, index + 1);
  db.close();
  service = await startService({ dataDir });
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

/** By how much a page is wider than its window, and the parts of its cards that end outside of it. */
const outside = async (page: Page): Promise<string[]> => {
  const parts = await page.evaluate(() =>
    [...document.querySelectorAll('.card, .card *')]
      // These scroll by themselves, or are for screen readers.
      .filter((part) => part.closest('.scroll-box, .off-screen') === null)
      .filter((part) => part.getBoundingClientRect().right > innerWidth + 1)
      .map((part) => `${part.localName}.${part.className}`),
  );
  const wide = await sidewaysPixels(page);
  return [...(wide > 0 ? [`${wide} px too wide`] : []), ...parts.slice(0, 3)];
};

test('no name pushes anything off the page', async () => {
  const { page, faults } = await openPage(service.url, '/nowhere');
  const compared = names.map((_, index) => `run=train_${index + 1}`).join('&');
  const found: string[] = [];
  for (const [path, text] of [
    ['/', 'Recent runs'],
    ['/training/runs', `${names.length} of ${names.length}`],
    ...names.map((_, index) => [`/training/train_${index + 1}`, 'Tokens per second'] as const),
    ['/training/train_1?view=settings', 'Validation dataset'],
    [`/training/compare?${compared}`, 'Differences'],
  ] as const) {
    await page.goto(service.url + path);
    await sees(page, text);
    await page.waitForFunction(() => document.querySelector('.skeleton') === null);
    for (const width of [1280, 360]) {
      await setWidth(page, width);
      found.push(...(await outside(page)).map((what) => `${path} at ${width}: ${what}`));
    }
  }
  await page.goto(service.url);
  await sees(page, 'Recent runs');
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('train_');
  await sees(page, `${names.length} results`);
  for (const width of [1280, 360]) {
    await setWidth(page, width);
    const parts = page.locator('.palette, .palette *');
    const wide = await parts.evaluateAll(
      (all) => all.filter((part) => part.getBoundingClientRect().right > innerWidth).length,
    );
    if (wide > 0) found.push(`the palette at ${width}: ${wide} parts`);
  }
  assert.equal(found, []);
  assert.equal(faults, []);
});

test.run();
