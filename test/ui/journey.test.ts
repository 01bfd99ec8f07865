import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, root, startService, temporaryFolder, tinyModel, trainersOf, until } from '../service.ts';
import {
  axeViolations,
  closeBrowser,
  isLive,
  keepPictures,
  openGroup,
  openPage,
  sees,
  typeModel,
} from './browser.ts';

test.after(async () => {
  await closeBrowser();
  await endAll();
});

/** A port that is likely free, since a restarted service must have the one that the page knows. */
const port = 20_000 + (process.pid % 20_000);

test('a newcomer uploads, trains through a killed server, asks the model and deletes it', async () => {
  const dataDir = temporaryFolder();
  const start = (warm: boolean) => startService({ dataDir, warm, args: ['--port', String(port)] });
  let service = await start(true);
  const { page, faults } = await openPage(service.url, '/');

  await sees(page, 'Train your own model');
  await page.getByRole('link', { name: 'Use your own data' }).click();
  await page.getByRole('heading', { name: 'New training' }).waitFor();

  await typeModel(page, 'no model');
  await sees(page, /neither a hub ID/);
  await page.getByLabel('Hub ID or folder').fill(tinyModel('llama'));
  await sees(page, 'Model found');
  await page.setInputFiles('#dataset-file', join(root, 'examples', 'support.jsonl'));
  await sees(page, '400 rows, all valid');
  await sees(page, 'First rows of');

  await page.getByLabel('Batch size', { exact: true }).fill('0');
  await sees(page, 'Batch size must be 1 to 1,024.');
  assert.ok(await page.getByRole('button', { name: 'Start training' }).isDisabled());
  await page.getByLabel('Batch size', { exact: true }).fill('2');
  await openGroup(page, 'Basics');
  await page.getByLabel('Gradient accumulation steps').fill('1');
  await page.getByLabel('Max sequence length').fill('96');
  await page.getByLabel('Max steps').fill('60');
  await openGroup(page, 'Validation and samples');
  await page.getByLabel('Validation share').fill('0.05');
  await page.getByLabel('Evaluation interval').fill('30');
  await page.getByLabel('Sample prompts').fill('My parcel has not come.');
  await page.locator('.estimate .meter').first().waitFor();

  await page.getByText('Token preview').click();
  await page.getByRole('button', { name: 'Show tokens' }).click();
  await page.locator('.token[data-kind="learned"]').nth(3).waitFor({ timeout: 120_000 });
  await keepPictures(page, 'training-ready-light');

  await page.reload();
  await sees(page, 'Model found');
  assert.is(await page.getByLabel('Hub ID or folder').inputValue(), tinyModel('llama'));
  assert.is(await page.getByLabel('Batch size', { exact: true }).inputValue(), '2');

  await page.getByRole('button', { name: 'Start training' }).dblclick();
  await page.waitForURL(/\/training\/train_1$/);
  assert.is((await service.call('GET', '/api/jobs')).body.total, 1);
  await page.getByRole('heading', { name: 'Loss', exact: true }).waitFor({ timeout: 60_000 });

  await service.end('SIGKILL');
  await sees(page, /Reconnecting|Stale since/);
  service = await start(false);
  await isLive(page);
  await page.locator('.page-head .badge[data-state="completed"]').waitFor({ timeout: 120_000 });
  await until(() => trainersOf(dataDir).length === 0, 'the trainer ended');
  await sees(page, 'File verified');
  await page
    .getByRole('heading', { name: /^Evaluation loss [\d.]+ → [\d.]+ · Perplexity [\d.,]+ → [\d.,]+ · / })
    .waitFor();
  const { verdict } = (await service.call('GET', '/api/jobs/train_1')).body;
  assert.ok(verdict.verified && verdict.loss.tuned < verdict.loss.base, JSON.stringify(verdict));
  const [prompt] = verdict.prompts;
  assert.equal([verdict.prompts.length, prompt.prompt], [1, 'My parcel has not come.']);
  assert.is(prompt.file.quantization, 'Q8_0');
  const [base, tuned] = await page.locator('.verdict-prompt .answer-text').allInnerTexts();
  assert.equal([base, tuned], [prompt.base, prompt.tuned]);
  await page.getByText('Checkpoints and file').click();
  await page.locator('.stretches').getByText(prompt.file.text).last().waitFor();
  await page.getByText('Details', { exact: true }).click();
  await sees(page, 'Next-token agreement with the adapter');
  await keepPictures(page, 'run-verdict-light');
  assert.equal(await axeViolations(page), []);
  await page.emulateMedia({ colorScheme: 'dark' });
  await keepPictures(page, 'run-verdict-dark');
  assert.equal(await axeViolations(page), []);
  await page.emulateMedia({ colorScheme: 'light' });
  assert.match((await page.locator('.off-screen[aria-live]').textContent()) ?? '', /^train_1: /);

  const points = (await service.call('GET', '/api/jobs/train_1/metrics')).body.train.length;
  assert.is(points, 60);
  // And the evaluation of the base model, at step 0.
  const area = page.locator('.chart-wide .chart-area');
  assert.match((await area.getAttribute('aria-label')) ?? '', 'chart of 61 points');
  await page.locator('.chart-wide summary').click();
  await until(
    async () => (await page.locator('.chart-wide tbody tr').count()) === 61,
    'the table has every point',
  );
  await page.getByRole('link', { name: 'Samples' }).click();
  await keepPictures(page, 'run-samples-light');
  await page.getByRole('link', { name: 'Log', exact: true }).click();
  await page.goBack();
  assert.match(page.url(), 'view=samples');

  await page.getByRole('link', { name: 'Try the model' }).click();
  await page.getByLabel('Max new tokens').fill('12');
  await page.getByRole('link', { name: 'Compare', exact: true }).click();
  await page.getByLabel('Prompt').fill('Where is my parcel?');
  await page.keyboard.press('Enter');
  await until(
    async () =>
      (await page
        .locator('.exchanges')
        .getByText(/\d tokens/)
        .count()) === 2,
    'both answers are there',
  );

  await keepPictures(page, 'playground-answers-light');

  await page.getByRole('link', { name: 'Models' }).click();
  await page.getByRole('link', { name: /^support · / }).click();
  await sees(page, 'model-Q8_0.gguf');
  await sees(page, /^ollama create llama-none-support/);
  await page.getByText('Export to other types, or again').click();
  await page.getByLabel('Q4_0', { exact: true }).check();
  await page.getByRole('button', { name: 'Export to Q4_0' }).click();
  await page.getByText('model-Q4_0.gguf').first().waitFor({ timeout: 120_000 });
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Download Modelfile' }).click();
  assert.is((await download).suggestedFilename(), 'Modelfile');
  await page.getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('button', { name: 'Delete model' }).click();
  await sees(page, 'No models yet');
  assert.equal((await service.call('GET', '/api/models')).body.models, []);
  assert.equal(faults, []);
});

test.run();
