/** What the page says of a training before it is started is what the trainer then does. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService, type TestService, tinyModel, until, untilEnded } from '../service.ts';
import { axeViolations, closeBrowser, openGroup, openPage, sees, typeModel } from './browser.ts';

let service: TestService;

test.after(async () => {
  await closeBrowser();
  await endAll();
});

test.before(async () => {
  service = await startService({ warm: true });
  const rows = (make: (index: number) => object) =>
    Array.from({ length: 14 }, (_, index) => JSON.stringify(make(index))).join('\n');
  await service.upload(
    'fourteen.jsonl',
    rows((index) => ({ input: `in ${index}`, output: `out ${index}` })),
  );
  await service.upload(
    'held-out.jsonl',
    rows((index) => ({ input: `held ${index}`, output: `out ${index}` })),
  );
  await service.upload(
    'pairs.jsonl',
    rows((index) => ({ prompt: `in ${index}`, chosen: `out ${index}`, rejected: 'no' })),
  );
});

/** Fills the form in: the settings are texts by their labels. */
async function fill(
  page: Page,
  model: string,
  dataset: string,
  settings: Record<string, string>,
): Promise<void> {
  await typeModel(page, model);
  await sees(page, 'Model found');
  await page.getByLabel('Dataset', { exact: true }).selectOption(dataset);
  await openGroup(page, 'Basics');
  await openGroup(page, 'Validation and samples');
  for (const [label, text] of Object.entries(settings))
    await page.getByLabel(label, { exact: true }).fill(text);
}

const stepsOf = (page: Page) =>
  page.locator('.plan .figure', { hasText: 'Steps' }).locator('dd').textContent();

async function showsSteps(page: Page, text: string): Promise<void> {
  let shown: string | null = null;
  const shows = async () => {
    shown = await stepsOf(page);
    return shown === text;
  };
  await until(shows, `the page says ${text} steps`).catch((error: Error) => {
    throw new Error(`${error.message}: it says ${shown}`);
  });
}

test('the count of steps is the trainer’s: the held-out part is rounded, and rlhf has several answers to a prompt', async () => {
  const { page, faults } = await openPage(service.url, '/training');
  // A tenth of 14 rows is one row, not two: 13 are trained.
  await fill(page, tinyModel('llama'), 'fourteen.jsonl', {
    'Validation share': '0.1',
    'Batch size': '1',
    'Gradient accumulation steps': '1',
    Epochs: '1',
    'Max sequence length': '64',
  });
  await showsSteps(page, '13');
  // Typing does not wait for an estimate. A service that is too busy for once is asked again.
  let refused = 0;
  let answer = () => {};
  const typed = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await page.route('**/api/estimate', async (route) => {
    refused += 1;
    await typed;
    return route.fulfill({ status: 503, json: { error: 'Unavailable', detail: 'Busy.', status_code: 503 } });
  });
  await page.getByLabel('Epochs', { exact: true }).fill('2');
  await until(() => refused > 0, 'the service is asked');
  await page.getByLabel('Epochs', { exact: true }).fill('0');
  await sees(page, 'Epochs must be');
  await page.getByLabel('Epochs', { exact: true }).fill('2');
  await page.getByText('Epochs must be').waitFor({ state: 'detached' });
  answer();
  await showsSteps(page, '–');
  await page.unroute('**/api/estimate');
  await showsSteps(page, '26');
  await page.getByLabel('Epochs', { exact: true }).fill('1');
  await showsSteps(page, '13');
  // With a dataset to validate on, no row is held out.
  const validation = page.getByLabel('Validation dataset', { exact: true });
  assert.equal(await validation.locator('option').allTextContents(), ['None', 'held-out.jsonl']);
  await validation.selectOption('held-out.jsonl');
  await showsSteps(page, '14');
  assert.ok(await page.getByLabel('Validation share', { exact: true }).isDisabled());
  // What the bar at the top hides in part would count as too small.
  await page.evaluate(() => scrollTo(0, 0));
  assert.equal(await axeViolations(page), []);
  await validation.selectOption('');
  await showsSteps(page, '13');
  await openGroup(page, 'Memory');
  await page.getByLabel('Packing', { exact: true }).selectOption('on');
  await showsSteps(page, 'at most 13');
  await page.getByLabel('Packing', { exact: true }).selectOption('off');
  await showsSteps(page, '13');
  await sees(page, /−1 fits 99\.9% of the rows, up to the model’s context length/);

  await page.getByRole('button', { name: 'Start training' }).click();
  await page.waitForURL(/train_1$/);
  assert.is((await untilEnded(service)).status, 'completed');
  const { last_metric: last } = (await service.call('GET', '/api/jobs/train_1')).body;
  assert.equal([last.step, last.total_steps], [13, 13]);

  // After it, the form tells how long another one takes.
  await page.goto(`${service.url}/training`);
  const time = page.locator('.estimate p', { hasText: /^\s*Time\s*about \d/ }).first();
  const told = await time.textContent();
  await page.locator('.estimate').getByRole('link', { name: 'train_1' }).waitFor();
  await page.getByLabel('Epochs', { exact: true }).fill('900');
  await until(async () => (await time.textContent()) !== told, 'the time follows the fields');
  await page.getByLabel('Epochs', { exact: true }).fill('1');

  // Eight rows of a step are two prompts with four answers each.
  await openGroup(page, 'Method');
  await page.getByRole('radio', { name: /^RLHF|^Reinforcement/i }).check();
  await page.getByLabel('Dataset', { exact: true }).selectOption('pairs.jsonl');
  await openGroup(page, 'Basics');
  await page.getByLabel('Gradient accumulation steps', { exact: true }).fill('8');
  await showsSteps(page, '6');
  assert.equal(faults, []);
});

test('a T5 model is trained without a GGUF, and the page says so before and after', async () => {
  const { page, faults } = await openPage(service.url, '/training');
  await fill(page, tinyModel('t5'), 'fourteen.jsonl', { 'Max sequence length': '64', Epochs: '1' });
  await sees(page, /There will be an adapter and no GGUF file: llama\.cpp cannot run/);
  await openGroup(page, 'Checkpoints and export');
  assert.ok(await page.getByLabel('Q8_0', { exact: true }).isChecked());
  // Asked for by name it is refused, with the reason and the way out.
  await page.getByLabel('Q4_K_M', { exact: true }).check();
  await page.getByRole('button', { name: /Start training/ }).click();
  await sees(page, /There can be no GGUF file: llama\.cpp cannot run the architecture T5/);
  await page.evaluate(() => scrollTo(0, 0));
  assert.equal(await axeViolations(page), []);
  await page
    .getByRole('button', { name: /Reset to automatic/ })
    .last()
    .click();
  await page.getByLabel('Validation dataset', { exact: true }).selectOption('held-out.jsonl');
  await page.getByRole('button', { name: /Start training/ }).click();
  await page.waitForURL(/train_2$/);
  await page.locator('.page-head .badge[data-state="completed"]').waitFor({ timeout: 120_000 });
  // It answers through transformers. The link needs the list of models, which is read after the end.
  await page.getByRole('link', { name: 'Try the model' }).waitFor();
  await page.getByRole('link', { name: 'Events' }).click();
  await sees(page, /makes an adapter and no GGUF file/);
  const spec = JSON.parse(readFileSync(join(service.dataDir, 'jobs', 'train_2', 'spec.json'), 'utf8'));
  assert.equal(spec.export, { quantizations: ['Q8_0'], required: false });
  assert.is(spec.validation.name, 'held-out.jsonl');
  assert.equal(faults, []);
});

test.run();
