/** The list of models: search, filters, order, columns, and what is done with several at once. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openStore } from '../../src/db/store.ts';
import { root } from '../folders.ts';
import { type LoopbackHub, startLoopbackHub } from '../hub/loopback.ts';
import { line, makeArtifacts, makeJobFolder } from '../jobs/made-folders.ts';
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
import { axeViolations, closeBrowser, keepPictures, openPage, sees } from './browser.ts';

let service: TestService;
let hub: LoopbackHub;
/** The models by the number of their run. */
const models = new Map<number, Json>();

/** Makes the folder of a completed run. @param base its base model. */
function makeRun(dataDir: string, id: number, base: string): void {
  const journal = ['hello', 'phase', 'metric', 'artifact', 'done'].map((type) => line(type));
  const folder = makeJobFolder(dataDir, id, journal);
  const path = join(folder, 'spec.json');
  const spec = JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(path, JSON.stringify({ ...spec, model: { ...spec.model, name: base } }));
  makeArtifacts(folder);
}

/** Stores an evaluation of the first model, where no service runs. */
function storeEvaluation(dataDir: string): void {
  const store = openStore(join(dataDir, 'database', 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  const { model_id: modelId, base_model: baseModel } = models.get(1) as Json;
  const subject = { name: 'Zephyr', baseModel, modelId, jobId: 1, checkpoint: null };
  const asked = { state: 'queued', subject, dataset: 'support.jsonl', shape: 'input-output', rows: 4 };
  const id = store.evaluations.insert({ ...asked, createdAt: '2026-11-21T12:00:00.000Z' });
  store.evaluations.update(id, { state: 'completed', figures: { loss: 0.25 } });
  store.close();
}

test.before(async () => {
  const dataDir = temporaryFolder();
  for (const [index, base] of ['owner/small', 'owner/large', 'owner/large', 'owner/old'].entries()) {
    makeRun(dataDir, index + 1, base);
  }
  hub = await startLoopbackHub();
  hub.addModel('someone/small', tinyModel('llama'));
  const env = { HF_ENDPOINT: hub.url, HF_HOME: temporaryFolder(), HUB_TOKEN: '', HF_HUB_OFFLINE: '0' };
  service = await startService({ dataDir, env });
  const catalog = async (): Promise<Json[]> => (await service.call('GET', '/api/catalog')).body.models;
  await until(async () => (await catalog()).length === 4, 'the models are stored');
  for (const model of await catalog()) models.set(Number(model.job_id.replace('train_', '')), model);
  await service.call('DELETE', '/api/jobs/train_4');
  const name = (id: number, change: object) =>
    service.call('PATCH', `/api/catalog/${models.get(id)?.model_id}`, change);
  await name(1, { display_name: 'Zephyr', tags: ['ready'] });
  await name(2, { display_name: 'alpha', notes: 'Shorter answers' });
  await name(3, { display_name: 'Mistral', tags: ['ready', 'old'] });
  await name(4, { display_name: 'Orphan' });
  await service.end();
  storeEvaluation(dataDir);
  service = await startService({ dataDir, env });
  await service.upload('support.jsonl', supportRows());
});
test.after(async () => {
  await closeBrowser();
  await endAll();
  await hub.close();
});

test('models are filtered, ordered and shown with the columns that one chooses, as the address tells', async () => {
  const { page, context, faults } = await openPage(service.url, '/models');
  await sees(page, '4 of 4');
  const names = () => page.locator('tbody th a').allTextContents();
  await page.getByLabel('Filter by base model').selectOption('owner/large');
  await sees(page, '2 of 4');
  await page.getByLabel('Filter by tag').selectOption('ready');
  await sees(page, '1 of 4');
  assert.equal(await names(), ['Mistral']);
  await page.reload();
  await sees(page, '1 of 4');
  assert.match(page.url(), /model=owner%2Flarge&tag=ready/);
  await page.getByLabel('Search models').fill('nothing');
  await sees(page, 'No matching models');
  for (const filter of ['base model', 'tag']) await page.getByLabel(`Filter by ${filter}`).selectOption('');
  await page.getByLabel('Search models').fill('SHORTER');
  await sees(page, '1 of 4');
  await page.getByLabel('Search models').fill('');
  await page.getByLabel('Filter by task').selectOption('summarization');
  await sees(page, '0 of 4');
  await page.getByLabel('Filter by task').selectOption('');
  await sees(page, '4 of 4');

  await page.getByRole('button', { name: 'Model', exact: true }).click();
  await page.locator('th[aria-sort="ascending"]').waitFor();
  assert.equal(await names(), ['alpha', 'Mistral', 'Orphan', 'Zephyr']);
  await page.locator('summary', { hasText: 'Columns' }).click();
  await page.getByLabel('Notes').check();
  await page.getByLabel('Run', { exact: true }).check();
  await page.getByLabel('Size', { exact: true }).uncheck();
  await page.getByRole('columnheader', { name: 'Notes' }).waitFor();
  assert.equal(await axeViolations(page), []);
  await page.reload();
  await page.getByRole('cell', { name: 'Shorter answers' }).waitFor();
  await page.getByRole('link', { name: 'train_2' }).waitFor();
  assert.is(await page.getByRole('columnheader', { name: 'Size' }).count(), 0);
  // What a heading means is told behind its button, and does not order the list.
  await page.getByRole('button', { name: 'About Gain' }).click();
  await sees(page, /^How much lower the evaluation loss is/);
  await page.keyboard.press('Escape');
  assert.equal(await names(), ['alpha', 'Mistral', 'Orphan', 'Zephyr']);
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await until(async () => (await names())[0] === 'Orphan', 'one without a run is first');
  assert.equal(await names(), ['Orphan', 'Zephyr', 'alpha', 'Mistral']);
  assert.equal(faults, []);
  await context.close();
});

test('a hub token is set and removed in the settings, and a wrong one is refused with what to do', async () => {
  hub.accounts.set('hf_ada', {
    name: 'ada',
    role: 'write',
    orgs: [{ name: 'analytical', roleInOrg: 'write' }],
  });
  const { page, context } = await openPage(service.url, '/settings');
  const card = page.getByRole('region', { name: 'Hub' });
  await card.getByText('There is no hub token.').waitFor();
  await card.getByLabel('Access token').fill('hf_babbage');
  await card.getByRole('button', { name: 'Save token' }).click();
  await card
    .getByRole('alert')
    .getByText(/The hub does not accept this token/)
    .first()
    .waitFor();
  assert.equal(await appearanceFaults(page, 'hub-token'), []);
  await card.getByLabel('Access token').fill('hf_ada');
  await page.keyboard.press('Enter');
  await card.getByText('Signed in as ada, member of analytical.').waitFor();
  assert.is(await card.getByLabel('New access token').inputValue(), '');
  await page.reload();
  await card.getByText('Signed in as ada').waitFor();
  assert.equal(await axeViolations(page), []);
  await card.getByRole('button', { name: 'Remove token' }).click();
  await card.getByText('There is no hub token.').waitFor();
  await context.close();
});

test('rows, run, model and evaluation are links to each other', async () => {
  const { page, context, faults } = await openPage(service.url, '/datasets/support.jsonl');
  await sees(page, /Trained on it: 3 runs, 4 models/);
  assert.equal(await appearanceFaults(page, 'dataset-used'), []);
  await page.getByRole('link', { name: '3 runs' }).click();
  await sees(page, '3 of 3');
  await page.locator('a[href="/training/train_1"]').click();
  await sees(page, 'Evaluations: eval_1 on support.jsonl (loss 0.25)');
  assert.equal(await appearanceFaults(page, 'run-evaluated'), []);
  await page.getByRole('link', { name: 'eval_1' }).click();
  const figures = page.getByRole('region', { name: 'Table of figures' });
  await figures.getByRole('link', { name: 'train_1' }).waitFor();
  assert.equal(await appearanceFaults(page, 'evaluation-of-a-model'), []);
  await figures.getByRole('link', { name: 'Zephyr' }).click();
  const lineage = page.getByRole('region', { name: 'Lineage' });
  await lineage.getByRole('link', { name: 'eval_1' }).waitFor();
  assert.equal(await appearanceFaults(page, 'model-evaluated'), []);
  await lineage.getByRole('link', { name: 'support.jsonl' }).click();
  await page.waitForURL(/\/datasets\/support\.jsonl$/);
  assert.equal(faults, []);
  await context.close();
});

test('several models are tagged, compared by their runs, and deleted at once', async () => {
  const { page, context, faults } = await openPage(service.url, '/models');
  const select = (id: number) => page.getByLabel(`Select ${models.get(id)?.name}`, { exact: true });
  const compare = page.getByRole('button', { name: 'Compare', exact: true });
  await select(1).check();
  assert.ok(await compare.isDisabled(), 'one alone is not compared');
  await select(4).check();
  await sees(page, '2 models selected');
  assert.ok(await compare.isDisabled());
  assert.is(await compare.getAttribute('title'), 'The run of one of them was deleted');

  await page.getByRole('button', { name: 'Tag…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Tags to add').fill('kept');
  await dialog.getByLabel('Tags to remove').fill('ready');
  await dialog.getByRole('button', { name: 'Change tags' }).click();
  await dialog.waitFor({ state: 'detached' });
  const tagsOf = async (id: number) =>
    (await service.call('GET', `/api/models/${models.get(id)?.model_id}/lineage`)).body.tags;
  assert.equal([await tagsOf(1), await tagsOf(4), await tagsOf(3)], [['kept'], ['kept'], ['ready', 'old']]);
  await page.locator('tbody tr', { hasText: 'Orphan' }).locator('.tag', { hasText: 'kept' }).waitFor();

  await select(1).check();
  await select(2).check();
  await keepPictures(page, 'model-list');
  assert.equal(await axeViolations(page), []);
  await compare.click();
  await page.waitForURL(/\/training\/compare\?run=train_1&run=train_2$/);
  await page.goBack();
  await sees(page, '4 of 4');

  await page.getByLabel('Select all shown models').check();
  await select(2).uncheck();
  await sees(page, '3 models selected');
  // One that another has deleted is told by its name, and the others are deleted.
  const [gone] = (await service.call('GET', '/api/catalog?search=Mistral')).body.models;
  await page.getByRole('button', { name: 'Delete…' }).click();
  await service.call('DELETE', `/api/models/${gone.model_id}`);
  await dialog.getByRole('button', { name: 'Delete 3 models' }).click();
  await dialog.getByText(/Mistral .*There is no model/).waitFor();
  await page.keyboard.press('Escape');
  await sees(page, '1 of 1');
  await page.getByRole('button', { name: 'Undo' }).click();
  await sees(page, '3 of 3');
  await sees(page, '2 restored');
  assert.equal(await axeViolations(page), []);
  for (const name of ['Zephyr', 'Orphan']) {
    const [one] = (await service.call('GET', `/api/catalog?search=${name}`)).body.models;
    await service.call('DELETE', `/api/models/${one.model_id}`);
  }
  await sees(page, '1 of 1');
  assert.equal(
    (await service.call('GET', '/api/catalog')).body.models.map(({ display_name }: Json) => display_name),
    ['alpha'],
  );
  assert.is((await service.call('GET', '/api/jobs')).body.total, 3, 'the runs are kept');
  assert.equal(faults, []);
  await context.close();
});

test('a base model is downloaded, which can be cancelled, chosen for a training, and deleted', async () => {
  const { page, faults } = await openPage(service.url, '/models');
  await page.getByRole('link', { name: 'Base models' }).click();
  await page.waitForURL(/\/models\/base$/);
  await sees(page, 'Recommended for this machine:');
  const found = await appearanceFaults(page, 'base-models');
  const start = async () => {
    await page.getByLabel('Another model of the hub').fill('someone/small');
    await page.getByRole('button', { name: 'Download', exact: true }).click();
  };
  const hangs = { match: /^GET/, how: { hang: true } } as const;
  hub.storage.faults.push(hangs);
  hub.faults.push({ ...hangs, match: /^GET .*resolve.*safetensors/ });
  await start();
  const bar = page.getByRole('progressbar', { name: 'Download of someone/small' });
  await bar.waitFor();
  found.push(...(await axeViolations(page)));
  await keepPictures(page, 'base-models-downloading');
  await page.getByRole('button', { name: 'Cancel the download of someone/small' }).click();
  await bar.waitFor({ state: 'detached' });
  for (const { faults: those } of [hub, hub.storage]) those.length = 0;
  await start();
  await sees(page, 'someone/small was downloaded');
  const remove = page.getByRole('button', { name: 'Delete someone/small…' });
  await remove.waitFor();
  await page.getByRole('button', { name: 'Train someone/small' }).click();
  await page.waitForURL(/\/training$/);
  const chosen = page.locator('#model option:checked');
  await chosen.getByText('someone/small').waitFor({ state: 'attached' });
  await page.goBack();
  await page.getByRole('link', { name: 'Chat with someone/small' }).click();
  await page.waitForURL(/\/playground\/base%3Asomeone%2Fsmall$/);
  await sees(page, 'This model has no chat template');
  await page.goBack();
  await remove.click();
  found.push(...(await axeViolations(page)));
  await page.getByRole('button', { name: 'Delete model' }).click();
  await remove.waitFor({ state: 'detached' });
  assert.equal([...found, ...faults], []);
});

test.run();
