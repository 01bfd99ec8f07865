/** The import of files of other formats on the page: what is detected, the columns, the progress, the end, the faults. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { childrenOf } from '../children.ts';
import { type LoopbackHub, startLoopbackHub } from '../hub/loopback.ts';
import {
  endAll,
  root,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  until,
} from '../service.ts';
import { appearanceFaults } from './appearance.ts';
import {
  axeViolations,
  closeBrowser,
  hasDataset,
  keepPicture,
  keepPictures,
  openPage,
  sees,
  settled,
} from './browser.ts';

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
  const csv = [`question,reply,${hostile}`, ...csvRows(30)].join('\n');
  await choose(page, 'faq.csv.gz', gzipSync(csv));
  await page.waitForURL(/\/datasets\/import\/[\w-]+$/);
  await sees(page, /CSV, compressed with gzip/);
  await sees(page, /3 columns: check which are used/);
  found.push(...(await appearanceFaults(page, 'import')));
  assert.is(await page.locator('.import-samples img').count(), 0);
  const samples = page.locator('.import-samples > li');
  await until(async () => (await samples.count()) === 3, 'three samples are shown');
  assert.match((await samples.first().textContent()) ?? '', `${hostile} 1`);

  // Another column is taken at once, and a refresh keeps the import.
  await page.getByLabel('Column for output').selectOption(hostile);
  await samples.first().getByText(/^0$/).waitFor({ timeout: 60_000 });
  await page.getByLabel('Column for output').selectOption('reply');
  await samples.first().getByText('answer 1').waitFor({ timeout: 60_000 });
  await page.reload();
  await sees(page, /CSV, compressed with gzip/);
  await sees(page, `Not used: ${hostile}`);

  // A text with several columns, a system prompt, and a column that is kept.
  await page.getByLabel('Column for output').selectOption('Text with columns…');
  await page.getByLabel('Text for output').fill(`{{${hostile}}}: {{replies}}`);
  await page.getByLabel('System prompt').fill('Be brief.');
  await sees(page, /The source has no column "replies"; its columns: question, reply/);
  await page.getByLabel('Text for output').fill(`Reply {{${hostile}}}: {{reply}}`);
  await page.getByText('Keep columns as metadata').click();
  await page.getByLabel(hostile, { exact: true }).check();
  await samples.first().getByText('Reply 0: answer 1').waitFor({ timeout: 60_000 });
  await samples.first().getByText('Be brief.').waitFor({ timeout: 60_000 });
  await page.locator('th[data-used]', { hasText: 'metadata' }).waitFor({ timeout: 60_000 });
  found.push(...(await appearanceFaults(page, 'import-template')));
  assert.is(await page.locator('hone-import-form img').count(), 0);

  await service.upload('answers.jsonl', supportRows());
  await page.reload();
  await page.getByLabel('Name of the dataset').fill('answers');
  await sees(page, 'Replaces the dataset answers.jsonl.');
  await page.getByRole('button', { name: 'Start import' }).focus();
  await page.keyboard.press('Enter');
  await sees(page, '30 rows imported');
  await page.getByRole('button', { name: 'Train on it' }).and(page.locator(':focus')).waitFor();
  found.push(...(await axeViolations(page)));
  await page.getByRole('link', { name: 'Open' }).click();
  await page.waitForURL(/\/datasets\/answers\.jsonl$/);
  await sees(page, '30 rows read, 30 written, 0 left out');
  await sees(page, `output from Reply {{${hostile}}}: {{reply}}`);
  await sees(page, 'Rows 1 to 25 of 30');
  await keepPicture(page, 'dataset-imported-1280');
  found.push(...(await axeViolations(page)));
  assert.equal([...found, ...faults], []);
});

test('of several lists of a JSON object, the one with the rows is chosen', async () => {
  const { page, context, faults } = await openPage(service.url, '/datasets');
  const rows = (count: number, of: string) =>
    Array.from({ length: count }, (_, row) => ({ question: `${of} ${row}`, reply: `answer ${row}` }));
  await choose(page, 'lists.json', JSON.stringify({ train: rows(12, 'trained'), test: rows(11, 'tested') }));
  await page.getByLabel('Rows', { exact: true }).selectOption('test (11)');
  const first = page.locator('.import-samples > li').first();
  await first.getByText('tested 0').waitFor({ timeout: 60_000 });
  await sees(page, 'Rows under the key "test".');
  const titles = await page.locator('.import-samples h2').allTextContents();
  assert.equal(titles, ['Row 1 becomes', 'Row 2 becomes', 'Row 3 becomes'], 'of one line');
  assert.equal(await axeViolations(page), []);
  await page.getByRole('button', { name: 'Start import' }).click();
  await sees(page, '11 rows imported');
  assert.equal(faults, []);
  await context.close();
});

/** Uploads a sheet with twelve rows and starts its import on the page. */
async function startImport(page: Page, name: string): Promise<void> {
  const rows = Array.from({ length: 12 }, (_, row) => `question ${row},answer ${row}`);
  await choose(page, name, ['question,reply', ...rows].join('\n'));
  await page.getByRole('button', { name: 'Start import' }).click();
}

const twelveImported = (page: Page) => page.locator('.check-line', { hasText: '12 rows imported' });

test('an answer to the start that comes after the end does not hide the end', async () => {
  const { page, faults } = await openPage(service.url, '/datasets');
  await page.route('**/start', async (route) => {
    const response = await route.fetch();
    await twelveImported(page).waitFor();
    await route.fulfill({ response });
  });
  const answered = page.waitForResponse(/\/start$/);
  await startImport(page, 'early.csv');
  await (await answered).finished();
  await settled(page);
  assert.is(await twelveImported(page).count(), 1);
  assert.equal(faults, []);
});

test('an import that ends while the page has no connection is shown as ended afterwards', async () => {
  const { page, faults } = await openPage(service.url, '/datasets');
  let disconnect: () => Promise<void> = async () => undefined;
  await page.routeWebSocket(/\/ws\/training/, (socket) => {
    disconnect = () => socket.close();
    // What is sent while the connection is lost does not arrive.
    socket.connectToServer().onMessage((frames) => {
      if (!String(frames).includes('"type":"import"')) socket.send(frames);
    });
  });
  await page.reload();
  await startImport(page, 'lost.csv');
  await until(async () => {
    const { body } = await service.call('GET', '/api/imports');
    return body.imports[0].source.name === 'lost.csv' && body.imports[0].state === 'completed';
  }, 'the import ended');
  await disconnect();
  await twelveImported(page).waitFor();
  assert.equal(faults, []);
});

test('faults are told by line and column, and the rows that have none can be imported without them', async () => {
  const { page, faults } = await openPage(service.url, '/training');
  await page.getByLabel('Learning rate').fill('0.0005');
  const rows = csvRows(14);
  rows[4] = 'only one cell';
  await choose(page, 'uneven.csv', ['question,reply,rest', ...rows].join('\n'));
  const dialog = page.getByRole('dialog', { name: 'Import a dataset' });
  await sees(page, '14 rows, 13 fit.');
  await keepPictures(page, 'import-in-form');
  // The import is in the form, and a refresh keeps it.
  await page.reload();
  await sees(page, '14 rows, 13 fit.');
  await sees(page, /has 1 value, but the header has 3 columns.*: 1 row/);
  await page.getByRole('button', { name: 'Start import' }).click();
  await sees(page, /nothing of it was stored/);
  await dialog.locator('.panel-error tbody tr', { hasText: '6' }).first().waitFor();
  assert.is(await dialog.locator('.panel-error').count(), 1);
  assert.equal(await axeViolations(page), []);
  await keepPicture(page, 'import-failed-1280');
  await page.getByLabel('Skip invalid rows').check();
  await page.getByRole('button', { name: 'Start import' }).click();
  await sees(page, /13 rows imported, 1 left out/);
  await page.getByRole('button', { name: 'Train on it' }).click();
  await hasDataset(page, 'uneven.jsonl');
  assert.is(await dialog.count(), 0);
  assert.is(await page.getByLabel('Learning rate').inputValue(), '0.0005');

  // Where nothing was left out, the form goes on by itself; a discarded import leads back to it, too.
  await startImport(page, 'even.csv');
  await page.waitForURL(/\/training$/);
  await hasDataset(page, 'even.jsonl');
  await choose(page, 'other.csv', 'question,reply\n1,2');
  await dialog.getByRole('button', { name: 'Discard' }).click();
  await page.waitForURL(/\/training$/);
  await hasDataset(page, 'even.jsonl');
  // One that is only closed is kept. The button does not move when the content arrives, so that a click on it counts.
  let answer: () => void = () => undefined;
  const isAnswered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await page.route(/\/api\/imports\/[^/]+$/, async (route) => {
    await isAnswered;
    await route.continue();
  });
  await choose(page, 'kept.csv', 'question,reply\n1,2');
  const closing = dialog.getByRole('button', { name: 'Close' });
  const before = await closing.boundingBox();
  answer();
  await sees(page, '1 row, all fit.');
  assert.equal(await closing.boundingBox(), before);
  await closing.click();
  await dialog.waitFor({ state: 'detached' });
  await page.goto(`${service.url}/datasets`);
  await page.getByRole('link', { name: 'kept.csv' }).click();
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.waitForURL(/\/datasets$/);
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
  const after = page.locator('.import-side').first();
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

test('several files are dropped anywhere on the page of datasets, and what became of each is told', async () => {
  const { page, faults } = await openPage(service.url, '/datasets');
  const transfer = await page.evaluateHandle((rows) => {
    const data = new DataTransfer();
    data.items.add(new File([rows], 'first.jsonl'));
    data.items.add(new File(['{"input": "a", "output": "b"}'], 'short.jsonl'));
    data.items.add(new File(['question,reply\na,b'], 'third.csv'));
    return data;
  }, supportRows());
  const place = page.getByRole('heading', { name: 'Datasets', level: 1 });
  await place.dispatchEvent('dragover', { dataTransfer: transfer });
  await page.locator('.drop[data-over="yes"]').waitFor();
  await place.dispatchEvent('drop', { dataTransfer: transfer });
  const list = page.getByRole('list', { name: 'Uploaded files' });
  await list.getByText('choose its columns').waitFor({ timeout: 120_000 });
  assert.is(await page.locator('.drop[data-over]').count(), 0);
  const told = await list.locator('li').allTextContents();
  assert.equal(
    told.map((words) => words.trim().replace(/\s+/g, ' ')),
    ['first.jsonl 400 rows, all valid', 'short.jsonl has faults', 'third.csv choose its columns'],
  );
  await page.getByRole('table').getByRole('link', { name: 'first.jsonl' }).waitFor();
  assert.equal(await axeViolations(page), []);
  await keepPictures(page, 'datasets-dropped');
  await list.getByRole('link', { name: 'third.csv' }).click();
  await sees(page, '1 row, all fit.');
  await sees(page, 'Too few rows');
  await sees(page, 'A dataset has at least 10 rows.');
  assert.ok(await page.getByRole('button', { name: 'Start import' }).isDisabled());
  assert.equal(faults, []);
});

test('files are dropped on any page: they lead to the datasets, and on the training form the first valid one is chosen', async () => {
  const { page, faults } = await openPage(service.url, '/models');
  const drop = async (names: readonly string[]) => {
    const rows = supportRows();
    const transfer = await page.evaluateHandle(
      ({ names, rows }) => {
        const data = new DataTransfer();
        for (const name of names) data.items.add(new File([name.startsWith('bad') ? '{}' : rows], name));
        return data;
      },
      { names, rows },
    );
    const place = page.getByRole('heading', { level: 1 });
    await place.dispatchEvent('dragover', { dataTransfer: transfer });
    await page.locator('.drop[data-over="yes"]').waitFor();
    return () => place.dispatchEvent('drop', { dataTransfer: transfer });
  };
  const onModels = await drop(['one.jsonl', 'two.jsonl']);
  await sees(page, 'Drop the files to add them as datasets');
  assert.equal(await axeViolations(page), []);
  await keepPictures(page, 'dropped-anywhere');
  await onModels();
  await page.waitForURL(/\/datasets$/);
  const list = page.getByRole('list', { name: 'Uploaded files' });
  await list.getByRole('link', { name: 'two.jsonl' }).waitFor();
  assert.is(await page.locator('[data-over]').count(), 0);
  await page.goto(`${service.url}/training`);
  await (await drop(['bad.jsonl', 'three.jsonl', 'four.jsonl']))();
  await list.getByRole('link', { name: 'four.jsonl' }).waitFor();
  await hasDataset(page, 'three.jsonl');
  // A dialog is in front: nothing is taken, and the page stays.
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').waitFor();
  const files = await page.evaluateHandle(() => {
    const data = new DataTransfer();
    data.items.add(new File(['{}'], 'five.jsonl'));
    return data;
  });
  await page.getByRole('dialog').dispatchEvent('drop', { dataTransfer: files });
  await page.keyboard.press('Escape');
  assert.is((await service.call('GET', '/api/datasets/five.jsonl')).status, 404);
  assert.equal(faults, []);
  for (const name of ['one', 'two', 'three', 'four', 'bad'])
    await service.call('DELETE', `/api/datasets/${name}.jsonl?permanently=true`);
});

test('a running import is listed, shows how far it is, and is cancelled with all it left', async () => {
  const { page, faults } = await openPage(service.url, '/datasets');
  await choose(page, 'long.csv', `input,output\n${'a question,an answer\n'.repeat(200_000)}`);
  await page.getByRole('button', { name: 'Start import' }).focus();
  await page.keyboard.press('Enter');
  const reader = await until(() => childrenOf(service.process.pid, '-m trainer import')[0], 'it runs');
  // So that it does not end by itself.
  process.kill(reader as number, 'SIGSTOP');
  await page.getByRole('progressbar', { name: 'Import', exact: true }).waitFor();
  await page.getByRole('status').getByText('Importing').waitFor();
  assert.equal(await axeViolations(page), []);
  await keepPictures(page, 'import-running');
  await page.getByRole('link', { name: 'Datasets' }).click();
  await page.getByRole('progressbar', { name: 'Import of long.csv' }).waitFor();
  assert.equal(await axeViolations(page), []);
  await keepPictures(page, 'datasets-importing');
  await page.getByRole('link', { name: 'long.csv' }).click();
  const cancel = page.getByRole('button', { name: 'Cancel import' });
  await cancel.focus();
  await page.keyboard.press('Enter');
  await sees(page, 'The import was cancelled. Nothing of it was stored.');
  await page.waitForURL(/\/datasets$/);
  await until(
    async () => (await page.getByRole('link', { name: /^long/ }).count()) === 0,
    'it is no longer listed',
  );
  assert.is((await service.call('GET', '/api/datasets/long.jsonl')).status, 404);
  await until(() => childrenOf(service.process.pid, '-m trainer import').length === 0, 'its process is gone');
  assert.equal(faults, []);
});

test('a dataset of the hub is found by its name, and the chosen split is imported; a missing and a gated one are told apart', async () => {
  const path = join(temporaryFolder(), 'made.parquet');
  const program = `
import sys, pyarrow as pa, pyarrow.parquet as pq
rows = [{"question": f"Q{n}", "answer": f"A{n}"} for n in range(12)]
pq.write_table(pa.Table.from_pylist(rows), sys.argv[1])`;
  execFileSync(join(root, 'trainer', '.venv', 'bin', 'python'), ['-c', program, path]);
  const rows = readFileSync(path);
  hub.addDataset('acme/gated', { 'data/train-0.parquet': rows }, { gated: 'manual' });
  hub.addDataset('acme/own', { 'data/train-0.parquet': rows, 'data/test-0.parquet': rows });
  const { page, faults } = await openPage(service.url, '/datasets');
  const name = page.getByLabel('Dataset of the hub');
  await name.fill('acme/missing');
  await page.keyboard.press('Enter');
  const panel = page.locator('.panel-error > p');
  await panel.getByText('"acme/missing" does not exist, or permission is denied').waitFor();
  await panel.getByText(/use a token with access to it: set it under Settings/).waitFor();
  assert.equal(await axeViolations(page), []);
  await name.fill('acme/gated');
  await page.keyboard.press('Enter');
  await panel
    .getByText(`"acme/gated" is gated. Accept its license at ${hub.url}/datasets/acme/gated`)
    .waitFor();
  assert.is(await panel.getByText('does not exist').count(), 0);
  await keepPictures(page, 'datasets-gated');
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
