/** Trackers on the page: chosen for a training, and linked from a run that is in one. */
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openStore } from '../../src/db/store.ts';
import { createFrameLog } from '../../src/domain/events/frame-log.ts';
import { littleInstallation } from '../jobs/little-installation.ts';
import {
  endAll,
  root,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  tinyModel,
} from '../service.ts';
import { axeViolations, closeBrowser, keepPictures, openGroup, openPage, typeModel } from './browser.ts';

let service: TestService;
const link = 'https://wandb.example/mail/runs/1';

/** Stores a run that two trackers have, one of them on a server. */
function storeRun(dataDir: string): void {
  const store = openStore(join(dataDir, 'database', 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  const id = store.jobs.insert({
    ...{ modelId: 'stored', state: 'stopped', task: 'text-generation', provider: 'standard' },
    ...{
      strategy: 'sft',
      modelName: 'own/name',
      datasetName: 'a.jsonl',
      createdAt: '2026-01-01T10:00:00.000Z',
    },
  });
  store.jobs.update(id, { spec: { settings: {} }, acknowledged: true });
  const told = { level: 'info', kind: 'tracker' };
  createFrameLog(store, () => undefined).commit((emit) => {
    emit('log', id, { ...told, tracker: 'wandb', url: link, message: `Weights & Biases has it: ${link}` });
    emit('log', id, { ...told, tracker: 'mlflow', message: 'MLflow has it: /home/me/runs' });
  });
  store.close();
}

test.before(async () => {
  const dataDir = temporaryFolder();
  storeRun(dataDir);
  service = await startService({ dataDir, env: littleInstallation('polite') });
  await service.upload('support.jsonl', supportRows());
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

test('a run links to the trackers that are on a server', async () => {
  const { page, context, faults } = await openPage(service.url, '/training/train_1');
  const anchor = page.getByRole('link', { name: 'Weights & Biases' });
  assert.is(await anchor.getAttribute('href'), link);
  assert.is(await page.getByRole('link', { name: 'MLflow' }).count(), 0);
  await keepPictures(page, 'run-trackers');
  assert.equal(await axeViolations(page), []);
  assert.equal(faults, []);
  await context.close();
});

test('trackers and their project are chosen on the form, and are those of the run', async () => {
  const { page, context, faults } = await openPage(service.url, '/training');
  await typeModel(page, tinyModel('llama'));
  await openGroup(page, 'Checkpoints and export');
  assert.is(await page.getByLabel('Project', { exact: true }).count(), 0);
  await page.getByLabel('MLflow', { exact: true }).check();
  await page.getByLabel('Trackio', { exact: true }).check();
  await page.getByLabel('Project', { exact: true }).fill('mail');
  await page.getByLabel('Project', { exact: true }).blur();
  await keepPictures(page, 'training-trackers');
  assert.equal(await axeViolations(page), []);
  await page.getByLabel('Dataset', { exact: true }).selectOption('support.jsonl');
  await page.getByRole('button', { name: /Start training/ }).click();
  await page.waitForURL(/train_2/);
  const { request } = (await service.call('GET', '/api/jobs/train_2')).body;
  assert.equal([request.report_to, request.project], [['mlflow', 'trackio'], 'mail']);
  assert.equal(faults, []);
  await context.close();
});

test.run();
