/** The pages of datasets: the list, the rows by page, what an upload leads to; names and cells are text. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { makeJobFolder } from '../jobs/made-folders.ts';
import {
  endAll,
  startService,
  type TestService,
  temporaryFolder,
  tinyModel,
  trainersOf,
  until,
} from '../service.ts';
import { appearanceFaults, pageFaults } from './appearance.ts';
import {
  axeViolations,
  closeBrowser,
  hasDataset,
  isLive,
  keepPictures,
  openPage,
  sees,
  typeModel,
} from './browser.ts';

const hostile = '<img src=x onerror=alert(1)>';
let service: TestService;

test.after(async () => {
  await closeBrowser();
  await endAll();
});

test.before(async () => {
  // A job that is in no database: the service tells about it.
  const dataDir = temporaryFolder();
  makeJobFolder(dataDir, 2, null);
  service = await startService({ dataDir });
  const rows = Array.from({ length: 120 }, (_, index) =>
    JSON.stringify({ input: `${hostile} ${index + 1} ${'x'.repeat(400)}`, output: 'b', [hostile]: 'c' }),
  );
  await service.upload('rows.jsonl', rows.join('\n'));
});

test('the pages of datasets in both themes: axe finds nothing, nothing scrolls sideways, hostile names are text', async () => {
  const found = await pageFaults(service, [
    { name: 'datasets', path: '/datasets', text: '120' },
    { name: 'dataset', path: '/datasets/rows.jsonl', text: 'Rows 1 to 25 of 120' },
    { name: 'dataset-missing', path: '/datasets/none.jsonl', text: 'Dataset not found' },
  ]);
  assert.equal(found, []);
});

test('datasets are ordered by a column, as the address tells', async () => {
  await service.upload('brief.jsonl', JSON.stringify({ input: 'a', output: 'b' }));
  const { page, context, faults } = await openPage(service.url, '/datasets');
  const names = () => page.locator('tbody th a').allTextContents();
  await until(async () => (await names()).join() === 'brief.jsonl,rows.jsonl', 'the newest is first');
  await page.getByRole('button', { name: 'Rows', exact: true }).click();
  await page.getByRole('button', { name: 'Rows', exact: true }).click();
  await until(async () => (await names()).join() === 'rows.jsonl,brief.jsonl', 'the longest is first');
  await page.waitForURL(/\?sort=-rows$/);
  await page.reload();
  await until(async () => (await names()).join() === 'rows.jsonl,brief.jsonl', 'the address holds the order');
  await service.call('DELETE', '/api/datasets/brief.jsonl');
  assert.equal(faults, []);
  await context.close();
});

test('the notice of the database is shown on every page until it is dismissed', async () => {
  const { page, faults } = await openPage(service.url, '/datasets');
  const { database_notice: notice } = (await service.call('GET', '/api/info')).body;
  await sees(page, notice);
  await page.goto(`${service.url}/models`);
  await sees(page, notice);
  await page.getByRole('button', { name: 'Dismiss' }).focus();
  await page.keyboard.press('Enter');
  assert.is(await page.getByText(notice).count(), 0);
  await page.reload();
  await sees(page, 'No models yet');
  await isLive(page);
  await page.waitForLoadState('networkidle');
  assert.is(await page.getByText(notice).count(), 0);
  assert.equal(faults, []);
});

test('all rows are read by page, with the keyboard alone, and a refresh stays at the page', async () => {
  const { page, faults } = await openPage(service.url, '/training');
  await page.getByRole('link', { name: 'Datasets' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'rows.jsonl' }).focus();
  await page.keyboard.press('Enter');
  await sees(page, 'Rows 1 to 25 of 120');
  await page.getByRole('button', { name: 'Next' }).focus();
  await page.keyboard.press('Enter');
  await sees(page, 'Rows 26 to 50 of 120');
  await page.reload();
  await sees(page, 'Rows 26 to 50 of 120');
  await page.getByLabel('Row', { exact: true }).fill('119');
  await page.keyboard.press('Enter');
  await sees(page, 'Rows 119 to 120 of 120');
  assert.ok(await page.getByRole('button', { name: 'Next' }).isDisabled());
  await page.getByRole('button', { name: 'Row 120', exact: true }).focus();
  await page.keyboard.press('Enter');
  assert.match((await page.locator('.whole-row').textContent()) ?? '', 'x'.repeat(400));
  assert.is(await page.locator('.preview img').count(), 0);
  await page.getByRole('button', { name: 'Previous' }).focus();
  await page.keyboard.press('Enter');
  await sees(page, 'Rows 94 to 118 of 120');
  assert.equal(faults, []);
});

test('a search shows the rows that have its words, marked, by page; what is hostile in them stays text', async () => {
  const { page, faults } = await openPage(service.url, '/datasets/rows.jsonl');
  const words = page.getByRole('searchbox', { name: 'Search rows' });
  await words.fill('ONERROR=alert(1)> 1');
  await page.keyboard.press('Enter');
  await sees(page, /Matches in lines 1 to 113, and more/);
  assert.equal(await page.locator('.preview mark').first().textContent(), 'onerror=alert(1)> 1');
  await page.getByRole('button', { name: 'Next' }).click();
  await sees(page, /Matches in lines 114 to 120, the last ones/);
  await page.reload();
  await sees(page, /Matches in lines 114 to 120, the last ones/);
  assert.equal(await axeViolations(page), []);
  await page.getByRole('button', { name: 'Previous' }).click();
  await sees(page, /Matches in lines 1 to 113/);
  await words.fill('alert(1)> 77 ');
  await page.keyboard.press('Enter');
  await sees(page, '1 match');
  await words.fill('nowhere');
  await page.keyboard.press('Enter');
  await sees(page, 'No matching rows');
  assert.equal(await axeViolations(page), []);
  await page.getByRole('button', { name: 'Clear' }).click();
  await sees(page, 'Rows 1 to 25 of 120');
  assert.is(await page.locator('.preview mark').count(), 0);
  assert.equal(faults, []);
});

test('rows are ordered by length, with words, page and address kept', async () => {
  const { page, faults } = await openPage(service.url, '/datasets/rows.jsonl?search=alert');
  await page.getByLabel('Order').selectOption('Longest first');
  await sees(page, /By characters of their texts\./);
  await page.waitForURL(/\?search=alert&sort=-length$/);
  const first = () => page.locator('.preview tbody td').first().innerText();
  await until(async () => (await first()) === '100', 'of equal ones the first is first');
  await page.getByRole('button', { name: 'Next' }).click();
  await until(async () => (await first()) === '14', 'the next page');
  await page.getByRole('button', { name: 'Next' }).click();
  await until(async () => (await first()) === '39', 'rows with two digits follow');
  await page.reload();
  await until(async () => (await first()) === '39', 'the address holds order and page');
  await keepPictures(page, 'dataset-ordered');
  assert.equal(await axeViolations(page), []);
  await page.getByRole('button', { name: 'Previous' }).click();
  await until(async () => (await first()) === '14', 'the page before');
  await page.getByLabel('Order').selectOption('Shortest first');
  await until(async () => (await first()) === '1', 'the shortest is first');
  // By the tokens of the model that is chosen, if they can be counted.
  for (const [model, words] of [
    ['/nowhere', /By characters, because the tokens of nowhere cannot be counted/],
    [tinyModel('llama'), /By tokens of .*, the model of the training form/],
  ] as const) {
    await page.goto(`${service.url}/training`);
    await typeModel(page, model);
    await page.goto(`${service.url}/datasets/rows.jsonl?sort=-length`);
    await sees(page, words);
  }
  await page.getByRole('columnheader', { name: 'Tokens' }).waitFor();
  assert.equal(
    faults.filter((fault) => !fault.includes('400')),
    [],
  );
});

test('a file with errors leads to its page, which tells them; from there it is deleted, or a good one is trained on', async () => {
  const { page, faults } = await openPage(service.url, '/datasets');
  const bad = [...Array(11).fill('{"input":"a","output":"b"}'), '{"input":"a"}'];
  await page.setInputFiles('#dataset-file', {
    name: 'bad.jsonl',
    mimeType: 'application/jsonl',
    buffer: Buffer.from(bad.join('\n')),
  });
  await page.waitForURL(/\/datasets\/bad\.jsonl$/);
  await sees(page, 'bad.jsonl has 1 error');
  assert.is(await page.getByRole('button', { name: 'Train on it' }).count(), 0);
  await page.getByRole('button', { name: 'Delete…' }).click();
  assert.equal(await axeViolations(page), []);
  await page.getByRole('button', { name: 'Delete dataset' }).click();
  await page.waitForURL(/\/datasets$/);
  await until(async () => (await page.getByText('bad.jsonl').count()) <= 1, 'the list has it no more');
  assert.is((await service.call('GET', '/api/datasets/bad.jsonl')).status, 404);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('link', { name: 'bad.jsonl' }).waitFor();
  await service.call('DELETE', '/api/datasets/bad.jsonl');
  await page.goto(`${service.url}/settings`);
  await page.getByRole('button', { name: 'Delete bad.jsonl for good' }).waitFor();
  await page.getByRole('button', { name: 'Restore bad.jsonl' }).click();
  await sees(page, 'bad.jsonl was restored');
  await service.call('DELETE', '/api/datasets/bad.jsonl');
  await page.reload();
  await page.getByRole('button', { name: 'Delete bad.jsonl for good' }).click();
  assert.equal(await appearanceFaults(page, 'bin'), []);
  await page.getByRole('dialog').getByRole('button', { name: 'Delete for good' }).click();
  await page.getByRole('button', { name: 'Delete bad.jsonl for good' }).waitFor({ state: 'detached' });
  await page.goto(`${service.url}/datasets`);
  await page.getByRole('link', { name: 'rows.jsonl' }).click();
  await page.getByRole('button', { name: 'Train on it' }).click();
  await hasDataset(page, 'rows.jsonl');
  assert.equal(faults, []);
});

test('what the bin has no room for is deleted only after that is said', async () => {
  const small = await startService({ limits: { binBytes: 100 } });
  await small.upload('large.jsonl', '{"input":"a","output":"b"}\n'.repeat(20));
  const { page } = await openPage(small.url, '/datasets/large.jsonl');
  await page.getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('button', { name: 'Delete dataset' }).click();
  await sees(
    page,
    /The bin cannot keep it: it has .* It can only be deleted for good\. This cannot be undone\./,
  );
  assert.equal(await axeViolations(page), []);
  await keepPictures(page, 'too-large-for-the-bin');
  assert.is((await small.call('GET', '/api/datasets/large.jsonl')).status, 200);
  await page.getByRole('button', { name: 'Delete for good' }).click();
  await page.waitForURL(/\/datasets$/);
  assert.is((await small.call('GET', '/api/datasets/large.jsonl')).status, 404);
  await page.context().close();
  await small.end();
});

test('rows are edited, added, deleted and put back; what was typed stays when another tab was first', async () => {
  const found: string[] = [];
  const row = (index: number) => `{"input": "question ${index}", "output": "b", "id": 12345678901234567890}`;
  const rows = Array.from({ length: 12 }, (_, index) => row(index + 1));
  await service.upload('mine.jsonl', rows.join('\n'));
  const path = '/api/datasets/mine.jsonl/rows';
  const text = async (line: number) => (await service.call('GET', `${path}/${line}`)).body.text;
  const { page, faults } = await openPage(service.url, '/datasets/mine.jsonl');
  await page.getByRole('button', { name: 'Edit row 12' }).focus();
  await page.keyboard.press('Enter');
  await page.getByLabel('output').fill('typed "here"\n👋');
  found.push(...(await axeViolations(page)));
  await keepPictures(page, 'row-dialog');
  // Another tab is first.
  const { version } = (await service.call('GET', '/api/datasets/mine.jsonl')).body;
  const other = row(12).replace('"b"', '"of another tab"');
  await service.call('PATCH', path, { version, changes: [{ line: 12, text: other }] });
  await page.getByRole('button', { name: 'Save' }).click();
  await sees(page, /changed since you opened it/);
  await sees(page, /of another tab/);
  assert.is(await page.getByLabel('output').inputValue(), 'typed "here"\n👋');
  assert.is(await text(12), other);
  found.push(...(await axeViolations(page)));
  await page.getByLabel('id (JSON)').fill('{');
  await page.getByRole('button', { name: 'Replace it' }).click();
  await sees(page, /id is not valid JSON/);
  await page.getByLabel('id (JSON)').fill('12345678901234567891');
  await page.getByRole('button', { name: 'Replace it' }).click();
  await sees(page, 'Row 12 was changed.');
  assert.is(
    await text(12),
    '{"input": "question 12", "output": "typed \\"here\\"\\n👋", "id": 12345678901234567891}',
  );

  await page.getByRole('button', { name: 'Add row…' }).click();
  await page.getByLabel('input', { exact: true }).fill('new');
  await page.getByLabel('output').fill('one');
  await page.getByRole('button', { name: 'Save' }).click();
  await sees(page, 'Rows 1 to 13 of 13');
  await page.getByRole('button', { name: 'Delete row 3' }).click();
  await sees(page, 'Row 3 was deleted.');
  await sees(page, 'Rows 1 to 12 of 12');
  assert.is(await text(3), row(4));
  await page.getByRole('button', { name: 'Undo' }).click();
  await sees(page, 'Rows 1 to 13 of 13');
  assert.is(await text(3), row(3));
  assert.equal([...found, ...faults], []);
});

test('rows are flagged by button and key, filtered, removed, kept, and put back', async () => {
  const rows = Array.from({ length: 40 }, (_, index) => `{"input": "question ${index + 1}", "output": "b"}`);
  await service.upload('flags.jsonl', rows.join('\n'));
  const { page, faults } = await openPage(service.url, '/datasets/flags.jsonl');
  const flag = (row: number) => page.getByRole('button', { name: `Flag row ${row}`, exact: true });
  const isFlagged = (row: number) => flag(row).and(page.locator('[aria-pressed="true"]')).waitFor();
  await flag(3).click();
  await isFlagged(3);
  await page.getByRole('button', { name: 'Row 5', exact: true }).focus();
  await page.keyboard.press('f');
  await isFlagged(5);
  await page.keyboard.press('f');
  await flag(5).and(page.locator('[aria-pressed="false"]')).waitFor();
  await page.goto(`${service.url}/datasets/flags.jsonl?row=26`);
  for (let row = 26; row <= 37; row += 1) await flag(row).click();
  await isFlagged(37);
  await page.getByRole('button', { name: 'Flagged only' }).click();
  await sees(page, '13 flagged rows');
  await page.reload();
  await sees(page, '13 flagged rows');
  await keepPictures(page, 'dataset-flagged');
  assert.equal(await axeViolations(page), []);
  await page.getByLabel('Order').selectOption('Longest first');
  await page.waitForURL(/flagged=true&sort=-length|sort=-length&flagged=true/);
  await sees(page, 'By characters');
  const first = () => page.locator('.preview tbody td').first().innerText();
  await until(async () => (await first()) === '26', 'the longest flagged row is first');
  await page.getByRole('button', { name: 'Keep only flagged rows' }).click();
  await sees(page, '27 rows were removed.');
  await sees(page, 'Rows 1 to 13 of 13');
  await isFlagged(13);
  await page.getByRole('button', { name: 'Undo' }).click();
  await sees(page, 'Rows 1 to 25 of 40');
  await page.getByRole('button', { name: 'Flagged only' }).click();
  await page.getByRole('button', { name: 'Remove flagged rows' }).click();
  await sees(page, 'Rows 1 to 25 of 27');
  await page.getByRole('button', { name: 'Flagged only' }).click();
  await sees(page, 'No flagged rows');
  assert.equal(faults, []);
  await service.call('DELETE', '/api/datasets/flags.jsonl');
});

test('a dataset is renamed, duplicated and downloaded from its page, and its former name leads to it', async () => {
  const { page, faults } = await openPage(service.url, '/datasets/mine.jsonl');
  const choose = async (name: string) => {
    await page.getByText('More', { exact: true }).click();
    await page.locator('.menu-body').getByText(name).click();
  };
  await page.getByText('More', { exact: true }).click();
  await page.setViewportSize({ width: 360, height: 740 });
  assert.equal(await appearanceFaults(page, 'dataset-menu'), []);
  await page.keyboard.press('Escape');
  await choose('Rename…');
  await page.getByLabel('Name', { exact: true }).fill('rows');
  await page.keyboard.press('Enter');
  await sees(page, /There is a dataset rows\.jsonl already/);
  assert.equal(await axeViolations(page), []);
  await page.getByLabel('Name', { exact: true }).fill('theirs');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/datasets\/theirs\.jsonl$/);
  await page.goto(`${service.url}/datasets/mine.jsonl`);
  await page.waitForURL(/\/datasets\/theirs\.jsonl$/);
  await sees(page, 'Rows 1 to 13 of 13');
  const downloads = page.waitForEvent('download');
  await choose('Download');
  assert.is((await downloads).suggestedFilename(), 'theirs.jsonl');
  await choose('Duplicate');
  await page.waitForURL(/\/datasets\/theirs-copy\.jsonl$/);
  await sees(page, 'Rows 1 to 13 of 13');
  assert.equal(faults, []);
});

test('a validation set is split off, and the training form takes both parts', async () => {
  const { page, faults } = await openPage(service.url, '/datasets/rows.jsonl');
  await page.getByRole('button', { name: 'Split off a validation set…' }).click();
  const percent = page.getByLabel('Validation share');
  await percent.fill('200');
  assert.ok(await page.getByRole('button', { name: 'Split', exact: true }).isDisabled());
  assert.equal(await axeViolations(page), []);
  await percent.fill('25');
  await sees(page, '30 rows to validate on, 90 to train on.');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/datasets\/rows-train\.jsonl$/);
  await sees(page, 'Rows 1 to 25 of 90');
  await page.getByRole('button', { name: 'Train on it' }).click();
  await hasDataset(page, 'rows-train.jsonl');
  const validation = page.getByLabel('Validation dataset', { exact: true });
  assert.is(await validation.inputValue(), 'rows-validation.jsonl');
  assert.equal(faults, []);
});

test('an analysis tells lengths with the cut, duplicates, overlap and empty answers, each with its rows', async () => {
  const found: string[] = [];
  const row = (index: number) => ({
    input: `${hostile} question ${index} ${'word '.repeat(index)}`,
    output: `answer ${index}`,
  });
  const rows: object[] = Array.from({ length: 30 }, (_, index) => row(index));
  rows.push(row(3), { input: 'empty', output: ' ' });
  const long = Array.from({ length: 30 }, (_, index) => `step${index}`).join(' ');
  rows.push({ input: `${long} now`, output: 'Yes.' }, { input: `${long} today`, output: 'Yes.' });
  const text = (list: readonly object[]) => list.map((one) => JSON.stringify(one)).join('\n');
  await service.upload('looked.jsonl', text(rows));
  await service.upload('held.jsonl', text(Array.from({ length: 12 }, (_, index) => row(index + 25))));
  const { page, faults } = await openPage(service.url, '/datasets');
  await page.getByRole('row', { name: /looked\.jsonl \d+ findings/ }).waitFor();
  await keepPictures(page, 'datasets-findings');
  await page.getByRole('link', { name: 'looked.jsonl' }).click();
  // What was found at once, is shown and put right.
  const figures = () => page.locator('.figure', { hasText: 'Rows' }).first().locator('dd').textContent();
  await page.getByRole('link', { name: 'Show: 1 row repeats an earlier one' }).click();
  await sees(page, '2 of 34 rows');
  assert.equal(await page.locator('.preview tbody td:first-child').allInnerTexts(), ['4', '31']);
  await page.getByRole('button', { name: 'Remove duplicates: 1 row repeats an earlier one' }).click();
  await sees(page, '1 row was removed.');
  await sees(page, 'Rows 1 to 25 of 33');
  assert.is(await figures(), '33');
  found.push(...(await axeViolations(page)), ...(await appearanceFaults(page, 'findings')));
  await page.getByRole('button', { name: 'Undo' }).click();
  await sees(page, '2 of 34 rows');
  await page.getByRole('button', { name: 'Show all rows' }).click();
  await sees(page, 'Rows 1 to 25 of 34');
  await page.getByText('Lengths and overlap', { exact: true }).click();
  await page.getByLabel('Model', { exact: true }).fill(tinyModel('llama'));
  await page.getByLabel('Max sequence length').fill('40');
  await page.getByLabel('Validation dataset').selectOption('held.jsonl');
  found.push(...(await axeViolations(page)));
  const analyse = page.getByRole('button', { name: 'Analyse' });
  await analyse.focus();
  await page.keyboard.press('Enter');
  // The process that counts tokens is stopped, so that there is something to cancel.
  const counter = await until(() => trainersOf(service.dataDir)[0], 'tokens are counted');
  process.kill(counter as number, 'SIGSTOP');
  await page.getByRole('status').getByText('Counting tokens').waitFor();
  found.push(...(await axeViolations(page)));
  await keepPictures(page, 'analysis-running');
  await page.keyboard.press('Enter');
  await analyse.and(page.locator(':focus')).waitFor();
  await until(() => trainersOf(service.dataDir).length === 0, 'its process is gone');
  assert.is(
    await page.locator('hone-dataset-analysis .panel-error, hone-dataset-analysis .figure').count(),
    0,
  );
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Rows by length' }).waitFor({ timeout: 180_000 });
  const figureOf = (name: string) =>
    page.locator('hone-dataset-analysis .figure', { hasText: name }).first().locator('dd').textContent();
  assert.is(await figureOf('Rows'), '34');
  assert.is(await figureOf('Exact duplicates'), '1');
  assert.is(await figureOf('Near duplicates'), '1');
  const near = page
    .locator('section', { has: page.getByRole('heading', { name: 'Near duplicates' }) })
    .last();
  const told = ((await near.textContent()) ?? '').replace(/\s+/g, ' ');
  assert.match(told, /Lines 33, 34 \d\d(\.\d)?% alike step0 .* now Yes\.step0 .* today Yes\./);
  assert.is(await figureOf('Empty answers'), '1');
  assert.not.equal(await figureOf('Truncated rows'), '0');
  await sees(page, 'Overlap with held.jsonl');
  await sees(page, /^\s*5 of its rows are in this dataset/);
  assert.is(await page.locator('hone-dataset-analysis img').count(), 0);
  await page.locator('hone-dataset-analysis .chart-data summary').click();
  await page.getByRole('columnheader', { name: 'Truncated' }).waitFor();
  found.push(...(await appearanceFaults(page, 'analysis')));
  assert.equal([...found, ...faults], []);
});

test.run();
