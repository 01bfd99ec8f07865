/** The page of a run and of a model whose export failed: what is there, why, and exporting again. */
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openStore } from '../../src/db/store.ts';
import { letGo, littleInstallation } from '../jobs/little-installation.ts';
import {
  endAll,
  quickRequest,
  root,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  until,
  untilEnded,
} from '../service.ts';
import { axeViolations, closeBrowser, keepPictures, openPage, sees, settled } from './browser.ts';

const dataDir = temporaryFolder();
let service: TestService;
let modelId: string;

const reason = 'model.layers.0.self_attn.q_proj.weight is not what was trained.';
/** Says how the export that runs goes on. */
const go = (how: string) => letGo(join(dataDir, 'exports', modelId), how);
const start = async () => {
  service = await startService({ dataDir, env: littleInstallation('export-fails') });
};

test.before(async () => {
  await start();
  await service.upload('support.jsonl', supportRows());
  await service.call('POST', '/api/finetune/start_training', quickRequest());
  await untilEnded(service);
  modelId = (await service.call('GET', '/api/jobs/train_1')).body.model_id;
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

/** Pictures and faults of the page as it is, in both colour schemes. */
async function lookAt(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await keepPictures(page, `${name}-${colorScheme}`);
    assert.equal(await axeViolations(page), []);
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

test('the run says that it is trained, why it was not exported and what is there', async () => {
  const { page, faults } = await openPage(service.url, '/training/train_1');
  await page.locator('.verdict-head .badge').getByText('Export failed').waitFor();
  assert.is(await page.getByText('File verified', { exact: true }).count(), 0);
  await sees(page, 'Trained; the export failed');
  await sees(page, reason);
  await sees(page, 'The adapter is kept. The model answers through its base model and the adapter.');
  await lookAt(page, 'run-export-failed');
  assert.equal(faults, []);
});

test('the model is exported to other types, with progress, cancel and failures in place', async () => {
  const { page, faults } = await openPage(service.url, `/models/${modelId}`);
  await page.locator('.page-head .badge').getByText('Export failed').waitFor();
  assert.ok(await page.getByLabel('Q8_0', { exact: true }).isChecked(), 'what failed is proposed again');
  await page.getByRole('button', { name: 'Export again' }).waitFor();
  await page.getByLabel('Q4_K_M', { exact: true }).check();
  await page.getByLabel('F16', { exact: true }).check();
  await page.getByLabel('Q8_0', { exact: true }).uncheck();
  await page.getByRole('button', { name: 'Export to F16, Q4_K_M' }).click();
  await sees(page, /F16, Q4_K_M: Writing the GGUF file/);
  await sees(page, 'merging into F16');
  await lookAt(page, 'model-exporting');

  // Another page shows it, too, and one of them cancels it.
  const other = await openPage(service.url, '/training/train_1');
  await sees(other.page, 'merging into F16');
  // One hears of changes only after the export.
  const deaf = await openPage(service.url, '/nowhere');
  let listen = () => {};
  const mayListen = new Promise<void>((done) => {
    listen = done;
  });
  await deaf.page.routeWebSocket(/\/ws\/training/, async (socket) => {
    await mayListen;
    socket.connectToServer();
  });
  await deaf.page.goto(`${service.url}/models/${modelId}`);
  await sees(deaf.page, 'merging into F16');
  await other.page.getByRole('button', { name: 'Cancel the export' }).click();
  for (const one of [page, other.page])
    await one.getByRole('button', { name: 'Export again' }).first().waitFor();
  await other.page.close();
  listen();
  await deaf.page.getByRole('button', { name: 'Export again' }).waitFor();
  await deaf.page.close();

  // What is read at the start arrives after the first word of how it goes.
  await page.route(`**/api/models/${modelId}/export`, async (route) => {
    if (route.request().method() !== 'GET') return route.continue();
    const response = await route.fetch();
    const json = await response.json();
    await sees(page, 'merging into F16');
    await route.fulfill({
      response,
      json: { ...json, underway: { ...json.underway, phase: null, detail: null } },
    });
  });
  const read = page.waitForResponse(
    (response) => response.request().method() === 'GET' && response.url().endsWith('/export'),
  );
  await page.getByLabel('F16', { exact: true }).check();
  await page.getByRole('button', { name: 'Export to F16, Q8_0' }).click();
  await (await read).finished();
  await settled(page);
  await sees(page, 'merging into F16');
  await page.unroute(`**/api/models/${modelId}/export`);
  go('one');
  await sees(page, 'Not every type could be exported');
  await sees(page, 'model-F16.gguf');
  const files = page.locator('hone-model-export li');
  assert.equal(
    (await files.allInnerTexts()).map((text) => text.split(/\s+/).slice(0, 2).join(' ')),
    ['F16 verified,', 'Q8_0 failed'],
  );
  await lookAt(page, 'model-partly-exported');

  // What is read at the start arrives after the end.
  const late: (() => Promise<void>)[] = [];
  let isFirst = true;
  await page.route(`**/api/models/${modelId}/export`, async (route) => {
    if (route.request().method() !== 'GET' || !isFirst) return route.continue();
    isFirst = false;
    const response = await route.fetch();
    late.push(() => route.fulfill({ response }));
  });
  await page.getByRole('button', { name: 'Export again' }).click();
  await sees(page, 'merging into Q8_0');
  await until(() => late.length === 1, 'the start is read');
  go('all');
  const done = 'Exported. Each file is the base model with the adapter merged into it.';
  await sees(page, done);
  await late[0]?.();
  await settled(page);
  await sees(page, done);
  await sees(page, 'verified, costs 0.3%');
  await page.getByText('What the types cost').click();
  await sees(page, 'KL 0.0012, 99.4% same');
  await lookAt(page, 'model-exported');
  assert.equal(faults, []);
});

test('a kept run that an earlier version ended after its last step is exported again', async () => {
  await service.end();
  const store = openStore(join(dataDir, 'database', 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  store.jobs.update(1, { state: 'failed', errorCode: 'verification_failed', errorMessage: 'It differs.' });
  store.close();
  await start();
  const { page } = await openPage(service.url, '/training/train_1');
  await sees(page, 'Trained; the export failed');
  await page.getByRole('button', { name: 'Export again' }).waitFor();
  await lookAt(page, 'run-trained-before');
});

test.run();
