/** The form of a training: what it offers, what it says before the start, and what starts a run. No training is needed for it. */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openStore } from '../../src/db/store.ts';
import { littleInstallation } from '../jobs/little-installation.ts';
import {
  endAll,
  root,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  tinyModel,
  until,
} from '../service.ts';
import {
  axeViolations,
  closeBrowser,
  keepPictures,
  openGroup,
  openPage,
  sees,
  settled,
  typeModel,
} from './browser.ts';

let service: TestService;
let ownFolder = '';

test.after(async () => {
  await closeBrowser();
  await endAll();
});

/** Puts the demo's model and one of the hub into the caches of a new home. */
function fillCaches(): NodeJS.ProcessEnv {
  const [cache, hub] = [temporaryFolder(), temporaryFolder()];
  const starter = join(cache, 'hone', 'starter-tiny');
  mkdirSync(join(cache, 'hone'));
  cpSync(tinyModel('llama'), starter, { recursive: true });
  writeFileSync(join(starter, 'starter.json'), '{}');
  const revision = 'a'.repeat(40);
  const kept = join(hub, 'hub', 'models--someone--kept');
  mkdirSync(join(kept, 'refs'), { recursive: true });
  writeFileSync(join(kept, 'refs', 'main'), revision);
  cpSync(tinyModel('llama'), join(kept, 'snapshots', revision), { recursive: true });
  return { XDG_CACHE_HOME: cache, HF_HOME: hub };
}

/** Stores a run of a model in a folder. */
function storeRun(dataDir: string, modelName: string): void {
  const store = openStore(join(dataDir, 'database', 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  const id = store.jobs.insert({
    ...{ modelId: 'stored', state: 'stopped', task: 'text-generation', provider: 'standard' },
    ...{ strategy: 'sft', modelName, datasetName: 'a.jsonl', createdAt: '2026-01-01T10:00:00.000Z' },
  });
  store.jobs.update(id, { spec: { settings: {} }, acknowledged: true });
  store.close();
}

test.before(async () => {
  const dataDir = temporaryFolder();
  ownFolder = join(temporaryFolder(), 'my-model');
  cpSync(tinyModel('llama'), ownFolder, { recursive: true });
  storeRun(dataDir, ownFolder);
  service = await startService({
    dataDir,
    env: { ...littleInstallation('polite'), ...fillCaches(), HF_HUB_OFFLINE: '1', HUB_TOKEN: '' },
  });
  await service.upload('support.jsonl', supportRows());
  await service.upload('held.jsonl', supportRows().split('\n').slice(0, 12).join('\n'));
  const rows = (row: object) => `${JSON.stringify(row)}\n`.repeat(12);
  await service.upload(
    'questions.jsonl',
    rows({ context: 'It is red.', question: 'Colour?', answer: 'red' }),
  );
  await service.upload('pairs.jsonl', rows({ prompt: 'Colour?', chosen: 'red', rejected: 'blue' }));
  await service.upload('broken.jsonl', [...Array(11).fill('{"input":"a","output":"b"}'), '{}'].join('\n'));
});

const startButton = (page: Page) => page.getByRole('button', { name: /Start training|Add to the queue/ });
const startNote = (page: Page) => page.locator('.plan > .note').last();
const figure = (page: Page, name: string) =>
  page.locator('.plan .figure', { hasText: name }).locator('dd').textContent();
const choose = (page: Page, label: string, value: string) =>
  page.getByLabel(label, { exact: true }).selectOption(value);

/** The fields of the form that are seen, by their labels. */
const seenFields = (page: Page) =>
  page
    .locator('.training-form :is(input, select, textarea):not([type="file"], [type="radio"]):visible')
    .evaluateAll((fields) =>
      fields.map((field) => (field as HTMLInputElement).labels?.[0]?.textContent?.trim() ?? field.ariaLabel),
    );

test('the list of models has those suggested, those on this machine from each place, and a field for any other', async () => {
  const { page, context, faults } = await openPage(service.url, '/training');
  const optionsOf = (group: string) =>
    page.locator(`#model optgroup[label="${group}"] option`).allTextContents();
  await page.locator('#model').waitFor();
  assert.equal(await optionsOf('On this machine'), [
    'starter-tiny · the demo’s small model',
    ownFolder,
    'someone/kept · in the hub cache',
  ]);
  const suggested = await optionsOf('Suggested for this machine');
  assert.ok(suggested.length > 2, `${suggested.length} models are suggested`);
  // Without the hub, one that is here is chosen: that of the latest run.
  await sees(page, 'The hub cannot be reached.');
  await until(
    async () => (await page.locator('#model').inputValue()) === ownFolder,
    'one that is here is chosen',
  );
  for (const words of suggested) assert.match(words, /^\S+\/\S+ · [\d.]+ B parameters, about .+ to train$/);
  for (const name of [ownFolder, 'someone/kept']) {
    await choose(page, 'Model', name);
    await sees(page, 'Model found');
    assert.is(await page.getByLabel('Hub ID or folder').count(), 0);
  }
  await typeModel(page, tinyModel('llama'));
  await sees(page, 'Model found');
  // A model that is typed in and listed stays in the field until the page is opened anew.
  await page.getByLabel('Hub ID or folder').fill(ownFolder);
  await sees(page, 'Model found');
  await page.reload();
  await page.locator('#model').waitFor();
  assert.is(await page.locator('#model').inputValue(), ownFolder);
  assert.equal(faults, []);
  await context.close();
});

test('without the hub one that is here is chosen, too, where the list of what is here comes last', async () => {
  const { page, context, faults } = await openPage(service.url, '/training');
  let list: () => void = () => undefined;
  const isChecked = new Promise<void>((resolve) => {
    list = resolve;
  });
  await page.route(/\/api\/base_models$/, async (route) => {
    await isChecked;
    await route.continue();
  });
  const checked = page.waitForResponse(/\/api\/base_models\/check/);
  await page.reload();
  await checked;
  list();
  await until(
    async () => (await page.locator('#model').inputValue()) === ownFolder,
    'one that is here is chosen',
  );
  assert.equal(faults, []);
  await context.close();
});

test('an adapter is offered to be merged, which makes a model of its folder', async () => {
  const adapter = join(temporaryFolder(), 'adapter');
  mkdirSync(adapter);
  const config = { peft_type: 'LORA', lora_alpha: 8, base_model_name_or_path: tinyModel('llama') };
  writeFileSync(join(adapter, 'adapter_config.json'), JSON.stringify(config));
  const table = JSON.stringify({ 'a.lora_A.weight': { dtype: 'F32', shape: [1, 1], data_offsets: [0, 4] } });
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(table.length));
  const weights = Buffer.concat([length, Buffer.from(table), Buffer.alloc(4)]);
  writeFileSync(join(adapter, 'adapter_model.safetensors'), weights);
  const { page, context, faults } = await openPage(service.url, '/training');
  const merge = page.getByRole('checkbox', { name: 'Merge this adapter into its base first' });
  await choose(page, 'Dataset', 'support.jsonl');
  await typeModel(page, adapter);
  await sees(page, 'This model cannot be used');
  await merge.check();
  await sees(page, 'Model found');
  const [request] = await Promise.all([
    page.waitForRequest((sent) => sent.url().endsWith('/api/estimate')),
    page.getByLabel('Epochs', { exact: true }).fill('2'),
  ]);
  assert.is(request.postDataJSON().merge_adapter, true);
  assert.equal(await axeViolations(page), []);
  await page.getByLabel('Hub ID or folder').fill(tinyModel('llama'));
  await sees(page, 'Model found');
  assert.is(await merge.count(), 0);
  assert.equal(faults, []);
  await context.close();
});

test('the form is one screen that begins with the dataset: a row each, presets, four settings, and the rest folded', async () => {
  const { page, context, faults } = await openPage(service.url, '/training', { height: 800 });
  await choose(page, 'Dataset', 'support.jsonl');
  await typeModel(page, tinyModel('llama'));
  await sees(page, 'Model found');
  await page.locator('.plan .meter').first().waitFor();
  assert.equal(await seenFields(page), [
    ...['Dataset', 'Task', 'Model', 'Hub ID or folder'],
    ...['Epochs', 'Learning rate', 'Batch size', 'Max sequence length'],
  ]);
  assert.is(await page.locator('.training-form details[open]').count(), 0);
  const radios = page.getByRole('radiogroup', { name: 'Training' }).getByRole('radio');
  assert.is(await radios.count(), 3);
  assert.ok(await radios.nth(1).isChecked());
  const bottom = await page
    .locator('.training-form')
    .evaluate((form) => form.getBoundingClientRect().bottom + scrollY);
  assert.ok(bottom <= 800, `the form ends at ${bottom} px`);
  const { y = 0, height = 0 } = (await startButton(page).boundingBox()) ?? {};
  assert.ok(y > 0 && y + height <= 800, `the button ends at ${y + height} px`);
  for (const row of await page.locator('.form-row-fields').all()) {
    const { height: tall = 0 } = (await row.boundingBox()) ?? {};
    assert.ok(tall > 0 && tall < 60, `a row is ${tall} px high`);
  }
  await keepPictures(page, 'training-form');
  assert.equal(faults, []);
  await context.close();
});

test('a preset fills the fields with numbers for the rows and the model, and a tenth is held out by default', async () => {
  const { page, context, faults } = await openPage(service.url, '/training');
  const written = (label: string) => page.getByLabel(label, { exact: true }).inputValue();
  const radio = (name: string) => page.getByRole('radio', { name: new RegExp(`^${name}`) });
  await choose(page, 'Dataset', 'support.jsonl');
  await choose(page, 'Model', ownFolder);
  // A model of a few weights learns at the highest rate, and is measured by none of its runs yet.
  await until(async () => (await written('Learning rate')) === '0.003', 'the rate is that of the model');
  const numbers = async () => [await written('Epochs'), await written('Batch size')];
  assert.equal(await numbers(), ['3', '8']);
  await until(async () => (await figure(page, 'Validation rows')) === '40', 'a tenth is held out');
  assert.is(await figure(page, 'Steps'), '135');
  await radio('Thorough').check();
  assert.equal(await numbers(), ['6', '8']);
  await page.getByLabel('Epochs', { exact: true }).fill('2');
  await openGroup(page, 'Validation and samples');
  assert.is(await written('Validation share'), '0.1');
  assert.is(await written('Keep best checkpoint'), 'on');
  assert.is(
    await page.locator('.training-form .tag', { hasText: 'changed' }).count(),
    0,
    'of those that are folded',
  );
  await radio('Quick').check();
  assert.equal(await numbers(), ['2', '8']);
  assert.is(await page.locator('.field[data-changed]').count(), 0, 'it replaces what was written');
  // Of twelve rows none is held out, unless that is asked for.
  await choose(page, 'Dataset', 'held.jsonl');
  await until(async () => (await figure(page, 'Validation rows')) === '0', 'all rows are trained on');
  assert.equal(await numbers(), ['10', '2']);
  assert.is(await written('Keep best checkpoint'), 'off');
  // A start waits only some seconds until what the numbers depend on is known.
  await until(
    async () => (await written('Learning rate')) === '0.003',
    'the rate is that of the model again',
  );
  const [request] = await Promise.all([
    page.waitForRequest((sent) => sent.url().endsWith('/api/finetune/start_training')),
    startButton(page).click(),
  ]);
  const { num_train_epochs, learning_rate, per_device_train_batch_size, eval_split, keep_best } =
    request.postDataJSON();
  assert.equal(
    [num_train_epochs, learning_rate, per_device_train_batch_size, eval_split, keep_best],
    [10, 0.003, 2, 0, false],
  );
  await page.waitForURL(/train_\d+$/);
  await service.call('POST', '/api/stop_training');
  await until(
    async () => (await service.call('GET', '/api/training_status')).body.status !== 'training',
    'the little trainer has ended',
  );
  assert.equal(faults, []);
  await context.close();
});

test('with all weights, the rate is lower and the fields of low-rank adapters are gone', async () => {
  const { page, context, faults } = await openPage(service.url, '/training');
  const field = (label: string) => page.getByLabel(label, { exact: true });
  await choose(page, 'Dataset', 'support.jsonl');
  await choose(page, 'Model', ownFolder);
  await until(
    async () => (await field('Learning rate').inputValue()) === '0.003',
    'the rate is that of LoRA',
  );
  await openGroup(page, 'LoRA');
  await field('LoRA rank').fill('8');
  await choose(page, 'Adapter', 'full');
  await sees(page, 'The other settings of this group do not act then.');
  assert.is(await field('Learning rate').inputValue(), '0.0003');
  assert.is(await field('LoRA rank').count(), 0);
  await keepPictures(page, 'training-form-full');
  assert.equal(await axeViolations(page), []);
  await until(
    async () => (await page.locator('.plan').textContent())?.includes('Memory'),
    'the plan is told',
  );
  assert.is(await page.locator('.plan .fault').count(), 0, 'the rank that was written is not sent');
  await choose(page, 'Adapter', 'lora');
  assert.is(await field('LoRA rank').inputValue(), '8');
  assert.equal(faults, []);
  await context.close();
});

test('the task is that of the rows, until another one is chosen', async () => {
  const { page, context, faults } = await openPage(service.url, '/training');
  const task = page.getByLabel('Task', { exact: true });
  const becomes = (name: string) =>
    until(async () => (await task.inputValue()) === name, `the task is ${name}`);
  await choose(page, 'Dataset', 'questions.jsonl');
  await becomes('extractive-question-answering');
  await choose(page, 'Dataset', 'pairs.jsonl');
  await becomes('text-generation');
  await startNote(page).getByText('Choose a model').or(startNote(page).getByText('You can close')).waitFor();
  await openGroup(page, 'Method');
  assert.ok(await page.getByRole('radio', { name: /^DPO/ }).isChecked());
  await task.selectOption('extractive-question-answering');
  await startNote(page)
    .getByText(/This task and strategy need the fields/)
    .waitFor();
  await page.getByRole('link', { name: 'Runs', exact: true }).first().click();
  await page.locator('summary', { hasText: /^New$/ }).click();
  await page.getByRole('link', { name: 'New training' }).click();
  for (const again of ['returning', 'a reload']) {
    await startNote(page)
      .getByText(/This task and strategy need the fields/)
      .waitFor();
    await settled(page);
    assert.is(await task.inputValue(), 'extractive-question-answering', `after ${again}`);
    await page.reload();
  }
  await choose(page, 'Dataset', 'support.jsonl');
  await becomes('text-generation');
  assert.equal(faults, []);
  await context.close();
});

test('the summary tells rows, steps, time, memory and disk, and follows the fields', async () => {
  const { page, context, faults } = await openPage(service.url, '/training');
  await choose(page, 'Dataset', 'support.jsonl');
  await choose(page, 'Model', ownFolder);
  await openGroup(page, 'Basics');
  await openGroup(page, 'Validation and samples');
  const split = page.getByLabel('Validation share', { exact: true });
  await split.fill('0.1');
  await until(async () => (await figure(page, 'Validation rows')) === '40', 'a tenth is held out');
  assert.is(await figure(page, 'Rows to train on'), '360');
  await page.getByLabel('Epochs', { exact: true }).fill('1');
  await page.getByLabel('Batch size', { exact: true }).fill('4');
  await page.getByLabel('Gradient accumulation steps', { exact: true }).fill('1');
  await until(async () => (await figure(page, 'Steps')) === '90', 'an epoch of 360 rows is 90 steps of four');
  await choose(page, 'Validation dataset', 'held.jsonl');
  await until(async () => (await figure(page, 'Validation rows')) === '12', 'the other dataset is held out');
  assert.is(await figure(page, 'Rows to train on'), '400');
  await choose(page, 'Validation dataset', '');
  const plan = page.locator('.plan');
  await plan.getByText('The time is known after a first run of this model here.').waitFor();
  await plan.locator('.meter', { hasText: /^\s*(GPU memory|Memory), / }).waitFor();
  await plan.locator('.meter', { hasText: /^\s*Disk/ }).waitFor();
  assert.equal(faults, []);
  await context.close();
});

test('a range is told where a field breaks it, and nowhere before', async () => {
  const { page, context, faults } = await openPage(service.url, '/training');
  await page.locator('.training-form > hone-settings-form details.fold > summary').first().waitFor();
  for (const fold of await page.locator('.training-form > hone-settings-form details.fold > summary').all()) {
    await fold.click();
  }
  const hints = (await page.locator('hone-settings-form .hint').allTextContents()).join('\n');
  assert.match(hints, 'The share of rows that is held out');
  assert.not.match(hints, /range|or more|or less|at most|at least|up to \d/i);
  const split = page.getByLabel('Validation share', { exact: true });
  await split.fill('7');
  await page.locator('.fault', { hasText: 'Validation share must be 0 to below 1.' }).waitFor();
  assert.is(await split.getAttribute('aria-invalid'), 'true');
  await split.fill('0.2');
  await page.locator('.fault', { hasText: 'Validation share' }).waitFor({ state: 'detached' });
  assert.ok(await split.isVisible(), 'its fold stays open');
  await page.getByLabel('Sample prompts', { exact: true }).fill(Array(17).fill('Hello').join('\n'));
  await page.locator('.fault', { hasText: 'There must be at most 16 sample prompts.' }).waitFor();
  assert.equal(await axeViolations(page), []);
  assert.equal(faults, []);
  await context.close();
});

test('Start says why it is disabled, and Enter in a field starts nothing', async () => {
  const { page, context, faults } = await openPage(service.url, '/training');
  const total = async () => (await service.call('GET', '/api/jobs')).body.total;
  const before = await total();
  const refuses = async (reason: string) => {
    await startNote(page).getByText(reason).waitFor();
    assert.ok(await startButton(page).isDisabled(), reason);
  };
  await refuses('Choose a dataset.');
  await choose(page, 'Dataset', 'broken.jsonl');
  await typeModel(page, '');
  await refuses('Choose a model.');
  await page.getByLabel('Hub ID or folder').fill(tinyModel('llama'));
  await refuses('The dataset has errors. Fix it or choose another one.');
  await choose(page, 'Dataset', 'support.jsonl');
  await sees(page, 'Model found');
  await startNote(page).getByText('You can close this page').waitFor();
  assert.ok(await startButton(page).isEnabled());

  for (const label of ['Epochs', 'Learning rate', 'Hub ID or folder']) {
    await page.getByLabel(label, { exact: true }).press('Enter');
  }
  const epochs = page.getByLabel('Epochs', { exact: true });
  await epochs.fill('many');
  await refuses('Epochs must be a number.');
  await epochs.fill('1');
  await until(() => startButton(page).isEnabled(), 'the mended field can be started');
  await page.getByLabel('Hub ID or folder').fill('no model');
  await sees(page, /neither a hub ID/);
  await refuses('This model cannot be used.');
  await epochs.press('Enter');
  await page.evaluate(() => scrollTo(0, 0));
  assert.equal(await axeViolations(page), []);
  assert.is(await total(), before);
  assert.is(new URL(page.url()).pathname, '/training');
  assert.equal(faults, []);
  await context.close();
});

test('a model that comes later is found when it is checked again, and a file of settings changes what was chosen', async () => {
  const { page, context, faults } = await openPage(service.url, '/training');
  const folder = join(temporaryFolder(), 'later');
  await typeModel(page, folder);
  await sees(page, 'This model cannot be used');
  cpSync(tinyModel('llama'), folder, { recursive: true });
  await page.getByRole('button', { name: 'Check again' }).click();
  await sees(page, 'Model found');

  const tasks = page.getByLabel('Task', { exact: true });
  for (const task of ['summarization', 'text-generation']) await tasks.selectOption(task);
  await page.getByLabel('Import settings…').setInputFiles({
    name: 'mine.json',
    mimeType: 'application/json',
    buffer: Buffer.from('{"task": "summarization"}'),
  });
  await until(async () => (await tasks.inputValue()) === 'summarization', 'the task of the file is shown');
  assert.equal(faults, []);
  await context.close();
});

test.run();
