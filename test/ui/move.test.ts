/** Moving in from OpenAI on the page: jobs and files are listed and downloaded, and a job becomes a training here. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { addFile, addJob, type OtherSide, startOtherSide } from '../moving/other-side.ts';
import { endAll, startService, type TestService } from '../service.ts';
import { appearanceFaults } from './appearance.ts';
import { axeViolations, closeBrowser, hasDataset, openPage, sees } from './browser.ts';

const key = 'sk-page-0123456789-moving-abcdefghij';
const hostile = '<img src=x onerror=alert(1)>';
let side: OtherSide;
let service: TestService;

const chats = Array.from({ length: 20 }, (_, index) =>
  JSON.stringify({
    messages: [
      { role: 'user', content: `Where is parcel ${index}?` },
      { role: 'assistant', content: `It is on its way, number ${index}.` },
    ],
  }),
).join('\n');

test.before(async () => {
  side = await startOtherSide(key);
  addFile(side, 'file-train', 'chats.jsonl', chats);
  addFile(side, 'file-valid', 'held.jsonl', chats);
  addJob(side, 'ftjob-1', { validation_file: 'file-valid' });
  addJob(side, 'ftjob-2', { training_file: 'file-gone', fine_tuned_model: `ft:${hostile}` });
  side.evals.push({
    object: 'eval',
    id: 'eval_1',
    created_at: 1_772_442_900,
    name: `Answers ${hostile}`,
    data_source_config: { type: 'custom', schema: {} },
    testing_criteria: [],
  });
  service = await startService({ env: { OPENAI_BASE_URL: `${side.url}/v1` } });
});

test.after(async () => {
  await closeBrowser();
  await endAll();
  await side.close();
});

test('jobs and files are listed, downloaded and opened in the training form; the key stays in its field', async () => {
  const found: string[] = [];
  const { page, faults } = await openPage(service.url, '/datasets');
  await page.getByRole('link', { name: /from OpenAI/ }).click();
  await sees(page, 'Nothing is listed yet');
  found.push(...(await axeViolations(page)));
  const field = page.getByLabel('OpenAI API key');
  assert.equal(
    [await field.getAttribute('type'), await field.getAttribute('autocomplete')],
    ['password', 'off'],
  );

  await field.fill('sk-wrong');
  await page.keyboard.press('Enter');
  await sees(page, 'The import from OpenAI ended');
  await sees(page, /Check the key/);
  found.push(...(await axeViolations(page)));

  await field.fill(key);
  await page.keyboard.press('Enter');
  await sees(page, 'Download the files of 2 jobs');
  assert.equal(
    side.arrived.filter(({ path }) => path.endsWith('/content')),
    [],
  );
  await page.getByRole('checkbox', { name: /ft:<img/ }).uncheck();
  await page.getByRole('button', { name: 'Download the files of 1 job' }).click();
  await page.getByRole('button', { name: 'Open in the training form' }).waitFor({ timeout: 120_000 });
  assert.is(await page.locator('.moved-jobs img').count(), 0);
  await page.getByRole('button', { name: 'Download 1 eval' }).click();
  await page.getByRole('region', { name: 'Table of evals' }).getByText('Downloaded, 0 runs').waitFor();
  assert.is((await service.call('GET', '/v1/evals/eval_1')).body.name, `Answers ${hostile}`);
  found.push(...(await appearanceFaults(page, 'move')));
  await page.getByRole('button', { name: 'Open in the training form' }).click();
  await page.waitForURL(/\/training$/);
  await hasDataset(page, 'chats.jsonl');
  assert.is(await page.getByLabel('Validation dataset', { exact: true }).inputValue(), 'held.jsonl');
  assert.is(await page.getByLabel('Epochs', { exact: true }).inputValue(), '3');
  const kept = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
  assert.not.match(kept, 'sk-page');
  await page.goto(`${service.url}/datasets/openai`);
  await sees(page, 'Enter your key to download files.');
  assert.is(await field.inputValue(), '');
  assert.equal([...found, ...faults], []);
});

test('listing tells that it goes on, and is cancelled', async () => {
  const { page, faults } = await openPage(service.url, '/datasets/openai');
  side.trouble = (path) => path.endsWith('/files');
  await page.getByLabel('OpenAI API key').fill(key);
  await page.keyboard.press('Enter');
  await page.getByRole('status').getByText('Listing jobs and files').waitFor();
  await page.getByRole('progressbar', { name: 'Import from OpenAI' }).waitFor();
  assert.equal(await axeViolations(page), []);
  const cancel = page.getByRole('button', { name: 'Cancel' });
  await cancel.focus();
  await page.keyboard.press('Enter');
  await page
    .getByRole('button', { name: 'List jobs and files' })
    .and(page.locator(':enabled:focus'))
    .waitFor();
  assert.is((await service.call('GET', '/api/move/openai')).body.state, 'cancelled');
  assert.is(await page.locator('.panel-error').count(), 0);
  assert.equal(faults, []);
});

test.run();
