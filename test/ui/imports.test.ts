/** The import of files of other formats on the page: what is detected, the columns, the progress, the end, the faults. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type LoopbackHub, startLoopbackHub } from '../hub/loopback.ts';
import { endAll, root, startService, type TestService, temporaryFolder } from '../service.ts';
import { axeViolations, closeBrowser, keepPicture, openPage, sees, sidewaysPixels } from './browser.ts';

const hostile = '<img src=x onerror=alert(1)>';
let service: TestService;
let hub: LoopbackHub;

test.after(async () => {
  await closeBrowser();
  await endAll();
  await hub.close();
});

test.before(async () => {
  hub = await startLoopbackHub();
  service = await startService({
    env: { HF_ENDPOINT: hub.url, HF_HOME: temporaryFolder(), HUB_TOKEN: '', HF_HUB_OFFLINE: '0' },
    limits: { hubBackoffMs: 1 },
  });
});

const choose = (page: Page, name: string, content: string | Buffer) =>
  page.setInputFiles('#dataset-file', { name, mimeType: '', buffer: Buffer.from(content) });

const csvRows = (count: number) =>
  Array.from({ length: count }, (_, index) => `"${hostile} ${index + 1}",answer ${index + 1},${index}`);

test('a CSV file leads to its import: columns are proposed and changed, rows shown before and after, in both themes', async () => {
  const found: string[] = [];
  const { page, faults } = await openPage(service.url, '/datasets');
  page.on('dialog', (dialog) => {
    found.push('a script of a cell ran');
    void dialog.dismiss();
  });
  const csv = [`question,reply,${hostile}`, ...csvRows(30)].join('\n');
  await choose(page, 'faq.csv.gz', gzipSync(csv));
  await page.waitForURL(/\/datasets\/import\/[\w-]+$/);
  await sees(page, /CSV, compressed with gzip/);
  await sees(page, /3 columns: check which are used/);
  for (const theme of ['Light', 'Dark']) {
    await page.getByRole('button', { name: `${theme} theme` }).click();
    for (const width of [1440, 1280, 640, 360, 320]) {
      await page.setViewportSize({ width, height: 900 });
      const wide = await sidewaysPixels(page);
      if (wide > 0) found.push(`the import at ${width} is ${wide} px too wide`);
      if (width === 1280 || width === 360) await keepPicture(page, `import-${theme.toLowerCase()}-${width}`);
    }
    await page.setViewportSize({ width: 1280, height: 900 });
    found.push(...(await axeViolations(page)));
  }
  assert.is(await page.locator('.import-samples img').count(), 0);
  const samples = page.locator('.import-samples > li');
  assert.is(await samples.count(), 3);
  assert.match((await samples.first().textContent()) ?? '', `${hostile} 1`);

  // Another column is taken at once, and a refresh keeps the import.
  await page.getByLabel('Column for output').selectOption(hostile);
  await samples.first().locator('.import-side').nth(1).getByText(/^0$/).waitFor({ timeout: 60_000 });
  await page.getByLabel('Column for output').selectOption('reply');
  await samples.first().locator('.import-side').nth(1).getByText('answer 1').waitFor({ timeout: 60_000 });
  await page.reload();
  await sees(page, /CSV, compressed with gzip/);

  await page.getByLabel('Name of the dataset').fill('answers');
  await page.getByRole('button', { name: 'Start import' }).focus();
  await page.keyboard.press('Enter');
  await sees(page, '30 rows imported');
  found.push(...(await axeViolations(page)));
  await page.getByRole('link', { name: 'Open' }).click();
  await page.waitForURL(/\/datasets\/answers\.jsonl$/);
  await sees(page, '30 rows read, 30 written, 0 left out');
  await sees(page, 'Rows 1 to 25 of 30');
  await keepPicture(page, 'dataset-imported-1280');
  found.push(...(await axeViolations(page)));
  assert.equal([...found, ...faults], []);
});

test('faults are told by line and column, and the rows that have none can be imported without them', async () => {
  const { page, faults } = await openPage(service.url, '/training');
  const rows = csvRows(14);
  rows[4] = 'only one cell';
  await choose(page, 'uneven.csv', ['question,reply,rest', ...rows].join('\n'));
  await page.waitForURL(/\/datasets\/import\//);
  await page.getByRole('button', { name: 'Start import' }).click();
  await sees(page, /nothing of it was stored/);
  await page.locator('.panel-error tbody tr', { hasText: '6' }).first().waitFor();
  assert.equal(await axeViolations(page), []);
  await keepPicture(page, 'import-failed-1280');
  await page.getByLabel('Leave out rows with faults').check();
  await page.getByRole('button', { name: 'Start import' }).click();
  await sees(page, /13 rows imported, 1 left out/);
  await page.getByRole('button', { name: 'Train on it' }).click();
  await page
    .getByRole('radio', { name: /^uneven\.jsonl/ })
    .and(page.locator(':checked'))
    .waitFor();
  assert.equal(faults, []);
});

test('rows of another shape in JSONL lead to their import, too; a file of no format tells so; an import is discarded', async () => {
  const { page, faults } = await openPage(service.url, '/datasets');
  const alpaca = Array.from({ length: 12 }, (_, index) =>
    JSON.stringify({ instruction: `Say ${index}`, input: '', output: `${index}` }),
  );
  await choose(page, 'alpaca.jsonl', alpaca.join('\n'));
  await page.waitForURL(/\/datasets\/import\//);
  await sees(page, /Detected: Alpaca rows/);
  // Other columns, and back to what was detected.
  const target = page.getByLabel('Import as');
  const after = page.locator('.import-side').nth(1);
  await target.selectOption({ label: 'Inputs with outputs' });
  await page.getByLabel('Column for input').selectOption('instruction');
  await after.getByText('Say 0').waitFor({ timeout: 60_000 });
  await target.selectOption({ label: 'Plain text' });
  await page.getByLabel('Column for text').selectOption('output');
  await after.getByText('text').waitFor({ timeout: 60_000 });
  await target.selectOption({ label: 'Detected: Alpaca rows' });
  await after.getByText('input').waitFor({ timeout: 60_000 });
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.waitForURL(/\/datasets$/);
  assert.equal(
    (await service.call('GET', '/api/imports')).body.imports.filter(
      ({ state }: { state: string }) => state === 'proposed',
    ),
    [],
  );

  await choose(page, 'broken.parquet', 'PAR1 and then nothing');
  await sees(page, 'This source cannot be imported');
  assert.equal(await axeViolations(page), []);
  await page.goto(`${service.url}/datasets/import/none`);
  await sees(page, 'Import not found');
  assert.equal(await axeViolations(page), []);
  assert.equal(faults, []);
});

test('a dataset of the hub is found by its name, and the chosen split is imported; one that is missing is told', async () => {
  const path = join(temporaryFolder(), 'made.parquet');
  const program = `
import sys, pyarrow as pa, pyarrow.parquet as pq
rows = [{"question": f"Q{n}", "answer": f"A{n}"} for n in range(12)]
pq.write_table(pa.Table.from_pylist(rows), sys.argv[1])`;
  execFileSync(join(root, 'trainer', '.venv', 'bin', 'python'), ['-c', program, path]);
  const rows = readFileSync(path);
  hub.addDataset('acme/own', { 'data/train-0.parquet': rows, 'data/test-0.parquet': rows });
  const { page, faults } = await openPage(service.url, '/datasets');
  const name = page.getByLabel('Dataset of the hub');
  await name.fill('acme/missing');
  await page.keyboard.press('Enter');
  await sees(page, 'Could not import from the hub');
  assert.equal(await axeViolations(page), []);
  await name.fill('acme/own');
  await page.keyboard.press('Enter');
  await page.getByLabel('Split', { exact: true }).selectOption('test');
  assert.equal(await axeViolations(page), []);
  await keepPicture(page, 'datasets-hub-1280');
  await page.getByRole('button', { name: 'Download and import' }).click();
  await page.waitForURL(/\/datasets\/import\//);
  await page.getByRole('button', { name: 'Start import' }).click({ timeout: 120_000 });
  await sees(page, '12 rows imported');
  assert.equal(faults, []);
});

test.run();
