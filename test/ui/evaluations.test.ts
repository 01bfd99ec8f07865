/** The pages of evaluations: the list and its form, one that runs, and two side by side, row by row. */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openStore } from '../../src/db/store.ts';
import { root } from '../folders.ts';
import { littleInstallation } from '../jobs/little-installation.ts';
import { makeModels } from '../models.ts';
import {
  endAll,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  tinyModel,
  until,
} from '../service.ts';
import { appearanceFaults } from './appearance.ts';
import { closeBrowser, openPage, sees } from './browser.ts';

let service: TestService;
const dataDir = temporaryFolder();

/** Two completed evaluations of the same four rows, of which they answer the first two alike, and one that failed. */
function storeEvaluations(): void {
  const store = openStore(join(dataDir, 'database', 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  const createdAt = '2026-11-21T12:00:00.000Z';
  for (const [name, rougeL] of [
    ['the-base', 0.2],
    ['tuned', 0.9],
  ] as const) {
    const subject = { name, baseModel: 'acme/tiny', modelId: null, jobId: null, checkpoint: null };
    const asked = { state: 'queued', subject, dataset: 'support.jsonl', shape: 'input-output', rows: 4 };
    const id = store.evaluations.insert({ ...asked, createdAt });
    store.evaluations.putResults(
      id,
      [1, 2, 3, 4].map((line) => ({
        ...{ line, prompt: `Question ${line}`, reference: `Reply ${line}`, rejected: null },
        answer: line < 3 ? `Reply ${line}` : `${name} says ${line}`,
        figures: { loss: 0.5, exact_match: line < 3 ? 100 : 0, rougeL },
      })),
    );
    const figures = { loss: 1 - rougeL, exact_match: 50, rougeL };
    store.evaluations.update(id, { state: 'completed', figures, startedAt: createdAt, endedAt: createdAt });
  }
  const subject = { name: 'gone', baseModel: 'acme/tiny', modelId: null, jobId: null, checkpoint: null };
  const asked = { state: 'queued', subject, dataset: 'support.jsonl', shape: 'input-output', rows: 4 };
  const id = store.evaluations.insert({ ...asked, createdAt });
  store.evaluations.update(id, { state: 'failed', error: 'The model is no longer there.' });
  store.close();
}

test.before(async () => {
  makeModels();
  storeEvaluations();
  service = await startService({ dataDir, env: littleInstallation('polite') });
  await service.upload('support.jsonl', supportRows());
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

test('two evaluations are compared by their figures, and by the rows that they answer differently', async () => {
  const { page, context, faults } = await openPage(service.url, '/training/evaluations');
  await sees(page, 'The model is no longer there.');
  assert.equal(await appearanceFaults(page, 'evaluations'), []);
  await page.getByRole('checkbox', { name: 'Compare eval_1' }).check();
  assert.ok(await page.getByRole('checkbox', { name: 'Compare eval_3' }).isDisabled(), 'it failed');
  await page.getByRole('checkbox', { name: 'Compare eval_2' }).check();
  await page.getByRole('link', { name: 'Compare 2' }).click();
  await sees(page, '2 of the first 4 rows are answered differently.');
  // Newest first.
  const figures = page.getByRole('region', { name: 'Table of figures' });
  assert.equal(
    await figures
      .getByRole('row', { name: /^ROUGE-L/ })
      .getByRole('cell')
      .allTextContents(),
    ['0.9 best', '0.2'],
  );
  const rows = page.getByRole('region', { name: 'Table of rows' }).locator('tbody tr');
  assert.equal(await rows.locator('th').allTextContents(), ['3', '4']);
  assert.match(
    await rows.first().innerText(),
    /Question 3[\s\S]*Reply 3[\s\S]*tuned says 3[\s\S]*the-base says 3/,
  );
  await page.getByRole('checkbox', { name: 'Show rows that are answered alike' }).check();
  assert.is(await rows.count(), 4);
  assert.equal(await appearanceFaults(page, 'evaluations-compared'), []);
  assert.equal(faults, []);
  await context.close();
});

test('two models are scored on a dataset from its page, with their progress, and one is cancelled', async () => {
  const { page, context, faults } = await openPage(service.url, '/datasets/support.jsonl');
  await page.getByRole('link', { name: 'Evaluate a model on it' }).click();
  const start = page.getByRole('button', { name: 'Evaluate', exact: true });
  await page.getByLabel('Model', { exact: true }).selectOption({ label: 'A base model…' });
  await page.getByLabel('Rows', { exact: true }).fill('0');
  assert.ok(await start.isDisabled());
  await page.getByLabel('Rows', { exact: true }).fill('3');
  const row = (id: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name: id }) });
  for (const [id, model] of [
    ['eval_4', tinyModel('llama')],
    ['eval_5', tinyModel('qwen3')],
    ['eval_6', tinyModel('llama')],
  ] as const) {
    await page.getByLabel('Base model').fill(model);
    await start.click();
    await row(id).waitFor();
    const { body } = await service.call('GET', `/api/evaluations/${id}`);
    assert.equal([body.dataset, body.base_model, body.rows], ['support.jsonl', model, 3]);
  }
  const progress = page.getByRole('progressbar', { name: 'Progress of eval_4' });
  await until(
    () => progress.evaluate((bar) => (bar as HTMLProgressElement).value === 50),
    'half of it is done',
    300_000,
  );
  assert.match(await row('eval_5').innerText(), 'Queued');
  assert.equal(await appearanceFaults(page, 'evaluations-running'), []);
  await page.getByRole('button', { name: 'Cancel eval_6' }).click();
  await sees(page, 'eval_6 was deleted');
  for (const [id, answer] of [
    ['eval_4', 'One'],
    ['eval_5', 'Two'],
  ] as const) {
    await page.getByRole('progressbar', { name: `Progress of ${id}` }).waitFor({ timeout: 300_000 });
    writeFileSync(join(dataDir, 'evaluations', id, 'going'), answer);
    renameSync(join(dataDir, 'evaluations', id, 'going'), join(dataDir, 'evaluations', id, 'go'));
    await page.getByRole('checkbox', { name: `Compare ${id}` }).check({ timeout: 300_000 });
  }
  await page.getByRole('button', { name: 'Delete eval_3' }).click();
  await page.getByRole('button', { name: 'Delete evaluation' }).click();
  await sees(page, 'eval_3 was deleted');
  assert.is(await page.getByRole('dialog').count(), 0);
  await page.getByRole('link', { name: 'Compare 2' }).click();
  await sees(page, '3 of the first 3 rows are answered differently.');
  assert.equal(faults, []);
  await context.close();
});

test.run();
