/** The pages of sweeps: the form, the plot and table of a stored one, and one that runs. */
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { littleInstallation } from '../jobs/little-installation.ts';
import { makeModels } from '../models.ts';
import {
  endAll,
  type Json,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  tinyModel,
  until,
} from '../service.ts';
import { appearanceFaults } from './appearance.ts';
import { axeViolations, closeBrowser, failuresOf, openGroup, openPage, sees, settled } from './browser.ts';
import { storeSweep } from './stored-sweep.ts';

let service: TestService;

test.before(async () => {
  const dataDir = temporaryFolder();
  makeModels();
  storeSweep(dataDir, tinyModel('llama'));
  const env = { ...littleInstallation('evaluates'), HONE_TEST_PACE_MS: '50' };
  service = await startService({ dataDir, env });
  await service.upload('support.jsonl', supportRows());
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

const trialNames = (page: Page) => page.locator('.trials tbody th a').allTextContents();
const shownTrial = (page: Page) => page.locator('.trials tr.differs th a').allTextContents();
/** Where no link is under the header, which would be too small to hit. */
const toTop = (page: Page) => page.evaluate(() => scrollTo(0, 0));
const sweepOf = async (name: string): Promise<Json> =>
  (await service.call('GET', `/api/sweeps/${name}`)).body;

test('the trials of a sweep are folded in the list of runs, below the first in its order', async () => {
  const { best } = await sweepOf('sweep_1');
  const { page, context, faults } = await openPage(service.url, '/training/runs');
  await sees(page, '1 of 1');
  const runs = () =>
    page.locator('tbody th > a').evaluateAll((links) => links.map((one) => one.getAttribute('href')));
  assert.equal(await runs(), ['/training/train_16'], 'the newest');
  await page.getByRole('button', { name: 'Gain', exact: true }).click();
  await page.locator('th[aria-sort="descending"]', { hasText: 'Gain' }).waitFor();
  await until(async () => (await runs())[0] === `/training/${best.job_id}`, 'the best stands for the others');
  await page.getByRole('cell', { name: /^\d+(\.\d+)?%$/ }).waitFor();
  await page.getByRole('button', { name: '16 trials' }).click();
  await until(async () => (await runs()).length === 16, 'all are listed');
  const { jobs } = (await service.call('GET', '/api/jobs?sweep=sweep_1&sort=-gain')).body;
  const byGain = jobs.map(({ job_id }: Json) => `/training/${job_id}`);
  assert.equal(await runs(), byGain);
  assert.equal(await appearanceFaults(page, 'runs-unfolded'), []);
  await page.reload();
  await until(async () => (await runs())[0] === byGain[0], 'the address holds the order');
  await page.getByRole('button', { name: 'Eval loss', exact: true }).click();
  await page.waitForURL(/sort=eval_loss$/);
  await page.getByLabel('Filter by state').selectOption('stopped');
  await page.getByRole('button', { name: '9 trials' }).click();
  await until(async () => (await runs()).length === 9, 'those of the filter');
  await page.getByRole('button', { name: '9 trials' }).click();
  await until(async () => (await runs()).length === 1, 'they are folded again');
  await page.getByRole('link', { name: 'sweep_1' }).click();
  await page.waitForURL(/\/training\/sweeps\/sweep_1$/);
  assert.equal(faults, []);
  await context.close();
});

test('a sweep’s page shows its trials best first, as a plot and a table that highlight the same one', async () => {
  const sweep = await sweepOf('sweep_1');
  const { page, faults } = await openPage(service.url, '/training/sweeps');
  await sees(page, '16 of 16');
  await page.getByRole('link', { name: 'sweep_1' }).click();
  await sees(page, `Best: trial ${sweep.best.number}`);

  const completed = sweep.trials_started
    .filter(({ state }: Json) => state === 'completed')
    .sort((a: Json, b: Json) => a.value - b.value)
    .map(({ number }: Json) => `Trial ${number}`);
  const names = await trialNames(page);
  assert.equal(names.slice(0, completed.length), completed);
  assert.is(names.length, 16);
  assert.is(names.at(-1), 'Trial 14', 'one that failed is last');
  // Each has the name of its run, which may be changed meanwhile.
  const runName = page.locator('.trials tbody th', { hasText: 'Trial 14' }).locator('small');
  assert.is(await runName.textContent(), 'support');
  const failed = sweep.trials_started.find(({ number }: Json) => number === 14);
  await service.call('PATCH', `/api/jobs/${failed.job_id}`, { display_name: 'Too large' });
  await until(async () => (await runName.textContent()) === 'Too large', 'its new name is shown');
  const best = `/api/jobs/${sweep.best.job_id}`;
  await service.call('PATCH', best, { display_name: 'Found' });
  await page.locator('section[aria-labelledby="best"]').getByText('Found').waitFor();
  assert.is(await page.locator('.trials .badge', { hasText: 'Culled' }).count(), 9);
  assert.is(
    await page
      .locator('.trials')
      .getByRole('button', { name: /^Resume trial/ })
      .count(),
    9,
  );
  const rates = page.locator('.meter', { hasText: 'Learning rate' });
  assert.is(
    Number(await rates.getByRole('progressbar').evaluate((bar: HTMLProgressElement) => bar.value.toFixed(3))),
    Number((100 * sweep.importance.find(({ field }: Json) => field === 'learning_rate').share).toFixed(3)),
  );

  // A line for each trial, an axis for each setting and the metric.
  assert.is(await page.locator('.plot-line').count(), 16);
  assert.is(
    await page
      .locator('.plot-name')
      .filter({ hasText: /^(Learning|LoRA rank|Packing)/ })
      .count(),
    3,
  );
  await page.locator('.plot-name', { hasText: 'log' }).filter({ hasText: 'Learning' }).waitFor();
  const box = page.getByRole('region', { name: /^Parallel coordinates/ });
  await box.focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await sees(page, new RegExp(`${names[1]} · Learning rate`));
  assert.equal(await shownTrial(page), [names[1]]);
  await page.keyboard.press('Escape');
  assert.equal(await shownTrial(page), []);
  await page.getByRole('link', { name: names[3] as string, exact: true }).focus();
  await sees(page, new RegExp(`${names[3]} · Learning rate`));
  // At the top of the last axis is the best trial.
  const plot = page.locator('.plot');
  const { width } = (await plot.boundingBox()) as { width: number };
  await until(async () => {
    await plot.hover({ position: { x: width - 62, y: 54 } });
    return (await shownTrial(page))[0] === names[0];
  }, 'the best is highlighted');
  assert.is(await page.locator('.plot-shown circle').count(), 6);
  await toTop(page);
  assert.equal(await appearanceFaults(page, 'sweep'), []);

  await page.getByRole('button', { name: 'Train best trial' }).click();
  await page.waitForURL(/\/training\/train_17$/);
  const { settings } = (await service.call('GET', '/api/jobs/train_17')).body;
  assert.equal(
    [settings.learning_rate, settings.lora_r, settings.max_steps],
    [sweep.best.parameters.learning_rate, sweep.best.parameters.lora_r, 90],
  );
  await service.call('POST', '/api/jobs/train_17/stop', { discard: true });
  await page.goto(`${service.url}/training/sweeps/sweep_1`);
  await page.getByRole('button', { name: 'Open in the training form' }).click();
  await page.getByRole('heading', { name: 'New training' }).waitFor();
  const value = (label: string) => page.getByLabel(label, { exact: true }).inputValue();
  assert.is(await value('Learning rate'), String(sweep.best.parameters.learning_rate));
  // In the list of models while the stopped run is remembered, and typed in after that.
  const models = () =>
    page
      .locator('#model, #custom-model')
      .evaluateAll((fields) => fields.map((field) => (field as HTMLInputElement).value));
  await until(async () => (await models()).includes(sweep.model_name), 'the model of the sweep is chosen');
  await openGroup(page, 'Basics');
  assert.is(await value('Max steps'), '90');
  assert.is(await page.locator('.tag', { hasText: 'Q4_K_M' }).count(), 1);
  await page.goto(`${service.url}/training/sweeps`);
  await sees(page, 'sweep_1');
  await sees(page, 'Found');
  assert.equal(await axeViolations(page), []);
  await page.goto(`${service.url}/training/train_1`);
  await sees(page, '2 workers');
  await page.goto(`${service.url}/training/sweeps/sweep_99`);
  await sees(page, 'Sweep not found');
  assert.equal(faults, []);
});

test('the form says at once what is missing, starts a sweep, and its page follows, stops, resumes and deletes it', async () => {
  const { page, faults } = await openPage(service.url, '/training/sweeps/new');
  await sees(page, 'Choose a dataset.');
  await sees(page, 'Set a validation share');
  const draft = {
    model: tinyModel('llama'),
    custom: true,
    dataset: 'support.jsonl',
    // Long enough for a busy machine: a trial that is over cannot be stopped.
    settings: { max_steps: '6000', eval_steps: '20', eval_split: '0' },
  };
  await page.evaluate((text) => localStorage.setItem('hone.draft', text), JSON.stringify(draft));
  const facts = page.waitForResponse('**/api/estimate');
  await page.reload();
  await (await facts).finished();
  const start = page.getByRole('button', { name: 'Start sweep' });
  const missing = page.locator('.plan .notes li');
  await until(async () => (await missing.count()) === 1, 'the share alone is missing');
  const share = page.getByLabel('Validation share');
  await share.fill('0.2');
  await page.getByText('Trials run in the same queue').waitFor();
  await share.fill('');
  await settled(page);
  assert.is(await share.inputValue(), '', 'nothing is put into a field that is being edited');
  await share.blur();
  await until(async () => (await share.inputValue()) === '0.1', 'an empty field has the usual share');
  await page.getByRole('button', { name: 'Remove Learning rate' }).click();
  await missing.getByText('Add a setting that varies.').waitFor();
  assert.ok(await start.isDisabled());
  const add = page.getByLabel('Add a setting that varies');
  assert.is(await add.locator('option', { hasText: 'Beta' }).count(), 0, 'no setting of another strategy');
  await add.selectOption('lora_r');
  assert.is(await page.getByLabel('Values, separated by commas').inputValue(), '8, 16, 32');
  await missing.getByText('There are 3 combinations').waitFor();
  await add.selectOption('learning_rate');
  const rate = page.getByRole('group', { name: 'Learning rate' });
  assert.is(await rate.getByLabel('From').inputValue(), '0.0003', 'a tenth of the rate for so few weights');
  await rate.getByLabel('To').fill('7');
  await missing.getByText('Learning rate must be above 0 to 1.').waitFor();
  await rate.getByLabel('To').fill('0.00001');
  await missing.getByText('must be less than the highest').waitFor();
  await rate.getByLabel('To').fill('0.01');
  await page.getByLabel('Trials', { exact: true }).fill('2');
  await toTop(page);
  assert.equal(await appearanceFaults(page, 'sweep-new'), []);
  await page.reload();
  assert.is(await page.getByLabel('Trials', { exact: true }).inputValue(), '2');
  await start.click();
  await page.waitForURL(/\/training\/sweeps\/sweep_2$/);
  await sees(page, '0 of 2 trials');
  // Frames tell of the trial and its evaluations.
  await page.locator('.trials .badge', { hasText: 'Running' }).waitFor();
  await page.locator('.trials td span.muted[title]').waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'Stop sweep' }).click();
  await page.locator('.actions .badge', { hasText: 'Stopped' }).waitFor();
  assert.is((await sweepOf('sweep_2')).state, 'stopped');
  await page.getByRole('button', { name: 'Resume trial 1' }).click();
  await page.waitForURL(/\/training\/train_\d+$/);
  await page.getByRole('button', { name: 'Stop…' }).click();
  await page.getByRole('button', { name: /^Stop and save/ }).click();
  await page.getByRole('button', { name: 'Resume', exact: true }).waitFor();
  await page.goto(`${service.url}/training/sweeps/sweep_2`);
  await page.getByRole('button', { name: 'Delete…' }).click();
  assert.equal(await axeViolations(page), []);
  const failed = failuresOf(page);
  await page.getByRole('button', { name: 'Delete sweep' }).click();
  await page.waitForURL(/\/training\/sweeps$/);
  await sees(page, 'sweep_1');
  assert.is(await page.getByRole('link', { name: 'sweep_2' }).count(), 0);
  assert.equal(failed, [], 'nobody asks for it any more');
  assert.is((await service.call('GET', '/api/sweeps/sweep_2')).status, 404);
  assert.equal(faults, []);
});

test.run();
