/** The pages of evaluations: the list and its form, one that runs, and two side by side, row by row. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openStore } from '../../src/db/store.ts';
import { root } from '../folders.ts';
import { letGo, littleInstallation } from '../jobs/little-installation.ts';
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

/**
 * Two completed evaluations of the same four rows, of which they answer the first two alike, one that failed, and others
 * that scored other rows.
 */
function storeEvaluations(): void {
  const store = openStore(join(dataDir, 'database', 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  const createdAt = '2026-11-21T12:00:00.000Z';
  const begin = (name: string, changes: object = {}) => {
    const subject = { name, baseModel: 'acme/tiny', modelId: null, jobId: null, checkpoint: null };
    const asked = { state: 'queued', subject, dataset: 'support.jsonl', shape: 'input-output', rows: 4 };
    return store.evaluations.insert({ ...asked, createdAt, ...changes });
  };
  const finish = (id: number, rowsDigest: string | null, figures: Record<string, number>) => {
    const times = { startedAt: createdAt, endedAt: createdAt };
    store.evaluations.update(id, { state: 'completed', rowsDigest, figures, ...times });
  };
  for (const [name, rougeL, changes] of [
    ['the-base', 0.2, {}],
    // Another name of the same rows.
    ['tuned', 0.9, { dataset: 'renamed.jsonl' }],
  ] as const) {
    const id = begin(name, changes);
    store.evaluations.putResults(
      id,
      [1, 2, 3, 4].map((line) => ({
        ...{ line, prompt: `Question ${line}`, reference: `Reply ${line}`, rejected: null },
        answer: line < 3 ? `Reply ${line}` : `${name} says ${line}`,
        figures: { loss: 0.5, exact_match: line < 3 ? 100 : 0, rougeL },
      })),
    );
    finish(id, 'same', { loss: 1 - rougeL, exact_match: 50, rougeL });
  }
  store.evaluations.update(begin('gone'), { state: 'failed', error: 'The model is no longer there.' });
  for (const [digest, changes] of [
    ['changed', {}],
    ['fewer', { rows: 3 }],
    ['other', { dataset: 'other.jsonl' }],
    [null, {}],
  ] as const)
    finish(begin(`on ${digest}`, changes), digest, { loss: 1 });
  store.close();
}

test.before(async () => {
  makeModels();
  storeEvaluations();
  service = await startService({ dataDir, env: littleInstallation('polite') });
  await service.upload('support.jsonl', supportRows());
  await service.upload('few.jsonl', supportRows().split('\n').slice(0, 3).join('\n'));
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

test('two evaluations are compared by their figures, and by the rows that they answer differently', async () => {
  const { page, context, faults } = await openPage(service.url, '/models/evaluations');
  await sees(page, 'The model is no longer there.');
  const offered = page.getByLabel('Dataset').locator('option');
  await offered.filter({ hasText: 'support.jsonl' }).waitFor({ state: 'attached' });
  assert.is(await offered.filter({ hasText: 'few.jsonl' }).count(), 0, 'three rows are not scored');
  assert.equal(await appearanceFaults(page, 'evaluations'), []);
  const ids = () => page.locator('tbody th a').allTextContents();
  await page.getByRole('button', { name: 'Loss', exact: true }).click();
  await until(async () => (await ids())[0] === 'eval_2', 'the lowest loss is first');
  assert.is((await ids()).at(-1), 'eval_3', 'one without figures is last');
  await page.getByRole('button', { name: 'Figures' }).click();
  await page.reload();
  await until(async () => (await ids())[0] === 'eval_1', 'the address holds the order');
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
    ['90 best', '20'],
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
  await page.getByRole('button', { name: 'Copy link' }).waitFor();
  await page.getByRole('button', { name: 'Report…' }).click();
  await page.getByLabel('Include prompts and answers').check();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Save', exact: true }).click(),
  ]);
  assert.is(file.suggestedFilename(), 'eval_2-eval_1.html');
  const report = readFileSync(await file.path(), 'utf8');
  for (const part of ['<b>90</b> best', 'Question 3', 'tuned says 3']) assert.ok(report.includes(part), part);
  assert.equal(faults, []);
  await context.close();
});

test('evaluations that scored other rows are not compared, and the reason is told', async () => {
  const { page, context, faults } = await openPage(service.url, '/models/evaluations');
  for (const [other, why] of [
    ['eval_4', 'the rows of support.jsonl were changed in between.'],
    ['eval_5', 'different numbers of rows were scored.'],
    ['eval_6', 'their datasets differ.'],
    ['eval_7', 'which rows were scored is not known of all.'],
  ] as const) {
    await page.goto(`${service.url}/models/evaluations/results?eval=eval_1&eval=${other}`);
    await sees(page, `These cannot be compared by their figures or row by row: ${why}`);
    assert.is(await page.getByRole('region', { name: 'Table of rows' }).count(), 0);
    assert.not.match(await page.getByRole('region', { name: 'Table of figures' }).innerText(), 'best');
  }
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
  await page.getByLabel('Tool syntax').selectOption('hermes');
  const row = (id: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name: id }) });
  for (const [id, model] of [
    ['eval_8', tinyModel('llama')],
    ['eval_9', tinyModel('qwen3')],
    ['eval_10', tinyModel('llama')],
  ] as const) {
    await page.getByLabel('Base model').fill(model);
    await start.click();
    await row(id).waitFor();
    const { body } = await service.call('GET', `/api/evaluations/${id}`);
    assert.equal([body.dataset, body.base_model, body.rows], ['support.jsonl', model, 3]);
    assert.match(body.name, 'Hermes’ syntax');
  }
  const progress = page.getByRole('progressbar', { name: 'Progress of eval_8' });
  await until(
    () => progress.evaluate((bar) => (bar as HTMLProgressElement).value === 50),
    'half of it is done',
    300_000,
  );
  assert.match(await row('eval_9').innerText(), 'Queued');
  assert.equal(await appearanceFaults(page, 'evaluations-running'), []);
  await page.getByRole('button', { name: 'Cancel eval_10' }).click();
  await sees(page, 'eval_10 was deleted');
  for (const [id, answer] of [
    ['eval_8', 'One'],
    ['eval_9', 'Two'],
  ] as const) {
    await page.getByRole('progressbar', { name: `Progress of ${id}` }).waitFor({ timeout: 300_000 });
    letGo(join(dataDir, 'evaluations', id), answer);
    await page.getByRole('checkbox', { name: `Compare ${id}` }).check({ timeout: 300_000 });
  }
  await page.getByRole('button', { name: 'Delete eval_3' }).click();
  await page.getByRole('button', { name: 'Delete evaluation' }).click();
  await sees(page, 'eval_3 was deleted');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Compare 2' }).click();
  await sees(page, '3 of the first 3 rows are answered differently.');
  assert.equal(faults, []);
  await context.close();
});

test.run();
