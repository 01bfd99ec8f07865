/** A run tells what happened to it: its events from start to end, and its log. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readDescription } from '../api/description.ts';
import { letGo, littleInstallation } from '../jobs/little-installation.ts';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  until,
} from '../service.ts';
import { appearanceFaults } from './appearance.ts';
import { closeBrowser, openPage } from './browser.ts';

let service: TestService;
const become = (state: string) =>
  until(
    async () => (await service.call('GET', '/api/jobs/train_1')).body.state === state,
    `the run is ${state}`,
    300_000,
  );

test.before(async () => {
  service = await startService({ env: littleInstallation('story') });
  await service.upload('support.jsonl', supportRows());
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

const beginning = [
  'Queued',
  'Starting',
  'Running',
  'Checking model and rows',
  'Loading the model',
  'Base model evaluated: Evaluation loss 2.5',
  'Training',
  'One row is cut.',
  'Evaluated at step 2: Evaluation loss 1.25',
  'Checkpoint saved at step 2 (the best so far)',
];
const again = ['Queued', 'Starting', 'Running', 'Resumed from step 2'];
const ending = [
  'Checking model and rows',
  'Loading the model',
  'Training',
  'adapter written, 2.05 kB',
  'Completed',
];

test('the events of a run are told from its start to its end, while it runs and afterwards', async () => {
  const { status, body } = await service.call(
    'POST',
    '/api/start_training',
    quickRequest({ eval_split: 0.1, export: 'none' }),
  );
  assert.is(status, 200, JSON.stringify(body));
  await become('failed');
  const { page, context, faults } = await openPage(service.url, '/training/train_1?view=events');
  const told = async () =>
    (await page.locator('.events li bdi').allTextContents()).map((text) => text.trim());
  const tells = (wanted: readonly string[]) =>
    until(async () => `${await told()}` === `${wanted}`, `the events are ${wanted}`);
  await tells([...beginning, 'Failed: The disk is full.']);
  assert.is(await page.locator('.events li[data-level="warning"]').count(), 2);
  assert.equal(await appearanceFaults(page, 'run-events'), []);
  await page.getByRole('button', { name: /^(Start again|Resume)/ }).click();
  await tells([...beginning, 'Failed', ...again, ...ending.slice(0, 3)]);
  const icon = () => page.locator('link[rel="icon"]').getAttribute('href');
  await page.waitForFunction(() => /^\d+% · /.test(document.title));
  assert.match((await icon()) ?? '', /^data:image\/svg/, 'a ring shows the progress');
  await page.getByRole('link', { name: 'Overview' }).click();
  const elapsed = await page.locator('hone-elapsed').textContent();
  await page.waitForFunction(
    (before) => document.querySelector('hone-elapsed')?.textContent !== before,
    elapsed,
  );
  await page.goBack();
  // The dataset that the run is reading is edited.
  const digest = page.locator('hone-run-rows');
  await digest.getByText('has the same rows now').waitFor();
  const { version } = (await service.call('GET', '/api/datasets/support.jsonl?rows=0')).body;
  await service.call('PATCH', '/api/datasets/support.jsonl/rows', { version, deletions: [1] });
  await page.reload();
  await digest.getByText('has changed since').waitFor();
  await digest.getByRole('link', { name: 'The dataset' }).waitFor();
  const data = await service.call('GET', '/api/jobs/train_1/data');
  (await readDescription(service)).check('GET', '/api/jobs/train_1/data', data);
  const sha256 = createHash('sha256').update(supportRows()).digest('hex');
  const rows = supportRows().trimEnd().split('\n').length;
  assert.equal(data.body, { rows, sha256, dataset: 'support.jsonl', changed: true });
  await restoresTheRows();
  letGo(join(service.dataDir, 'jobs', 'train_1'));
  await tells([...beginning, 'Failed', ...again, ...ending]);
  await page.waitForFunction(() => document.title.startsWith('Completed · '));
  assert.is(await icon(), '/favicon.svg');
  await page.reload();
  await tells([...beginning, 'Failed', ...again, ...ending]);
  const answer = await service.call('GET', '/api/jobs/train_1/events');
  (await readDescription(service)).check('GET', '/api/jobs/train_1/events', answer);
  const written = readFileSync(join(service.dataDir, 'jobs', 'train_1', 'journal.jsonl'), 'utf8')
    .split('\n')
    .filter((line) => line.includes('"checkpoint"'))
    .map((line) => JSON.parse(line).time);
  const times = answer.body.events
    .filter(({ kind }: Json) => kind === 'checkpoint')
    .map(({ time }: Json) => time);
  assert.equal(times, written, 'an event has the time at which it happened');
  assert.equal(faults, []);
  await context.close();
});

/** Opens the rows that a run reads from its page, and restores them, though another tab edits the dataset meanwhile. */
async function restoresTheRows(): Promise<void> {
  const { page, context, faults } = await openPage(service.url, '/training/train_1');
  await page.getByRole('link', { name: 'the rows that it was started with' }).click();
  await page.getByRole('heading', { name: 'An earlier version' }).waitFor();
  const shown = page.getByRole('region', { name: 'Rows of the version' });
  const rows = supportRows().trimEnd().split('\n');
  await shown.getByText(JSON.parse(rows[0] as string).input, { exact: true }).waitFor();
  assert.is(await shown.getByRole('button', { name: /^Edit/ }).count(), 0);
  await page.getByRole('button', { name: 'Next' }).click();
  await page.getByText(`Rows 26 to 50 of ${rows.length}`).waitFor();
  assert.equal(await appearanceFaults(page, 'dataset-version'), []);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download' }).click(),
  ]);
  assert.is(readFileSync(await download.path(), 'utf8'), supportRows());

  const dataset = '/api/datasets/support.jsonl';
  const numberOfRows = async () => (await service.call('GET', dataset)).body.num_examples;
  const { version } = (await service.call('GET', `${dataset}?rows=0`)).body;
  await service.call('PATCH', `${dataset}/rows`, { version, deletions: [1] });
  const restore = page.getByRole('button', { name: 'Restore as the newest' });
  await restore.click();
  await page.getByText('was changed since you opened it').first().waitFor();
  const figures = page.getByRole('region', { name: 'Dataset', exact: true });
  await figures.getByText(`${rows.length - 2}`, { exact: true }).waitFor();
  assert.is(await numberOfRows(), rows.length - 2);
  await restore.click();
  await page.getByText('The version was restored.').waitFor();
  assert.is(await numberOfRows(), rows.length);
  await page.getByRole('button', { name: 'Undo' }).click();
  const versions = page.getByRole('region', { name: 'Versions of the dataset' });
  await versions.getByText('2 removed').waitFor();
  assert.is(await numberOfRows(), rows.length - 2);
  assert.equal(await appearanceFaults(page, 'dataset-versions'), []);
  await versions.getByRole('link', { name: /20\d\d/ }).click();
  await page.getByRole('heading', { name: 'An earlier version' }).waitFor();
  assert.equal(
    faults.filter((fault) => !fault.includes('409')),
    [],
  );
  await context.close();
}

test('the log is shown without progress bars', async () => {
  const { page, context, faults } = await openPage(service.url, '/training/train_1?view=log');
  const log = page.getByRole('region', { name: 'Trainer log' });
  assert.is((await log.innerText()).trim(), 'loaded the weights');
  const { body } = await service.call('GET', '/api/jobs/train_1/log');
  assert.match(body, 'Loading weights: 100%', 'the file has everything');
  assert.equal(faults, []);
  await context.close();
});

test.run();
