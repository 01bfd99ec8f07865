/** A person with own rows who takes every default: from the file to a judgement, and to figures where none were measured. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { markup } from '../../src/api/hone/reports/markup.ts';
import { lossText } from '../../src/contract/training/loss-text.ts';
import {
  endAll,
  type Json,
  startService,
  supportRows,
  type TestService,
  tinyModel,
  until,
} from '../service.ts';
import {
  axeViolations,
  closeBrowser,
  keepPictures,
  layoutShiftOf,
  openPage,
  sees,
  typeModel,
} from './browser.ts';

let service: TestService;
const rows = supportRows().trimEnd().split('\n');
const patienceMs = 300_000;

test.before(async () => {
  service = await startService({ warm: true });
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

/** Trains on a file with all defaults. @returns the page of the completed run. */
async function train(name: string, count: number) {
  const { page, context, faults } = await openPage(service.url, '/training');
  await page.setInputFiles('#dataset-file', {
    name,
    mimeType: 'application/jsonl',
    buffer: Buffer.from(rows.slice(0, count).join('\n')),
  });
  await sees(page, `${count} rows, all valid`);
  await typeModel(page, tinyModel('llama'));
  await sees(page, 'Model found');
  // A start waits only some seconds until what the presets depend on is known.
  const rate = page.getByLabel('Learning rate', { exact: true });
  await until(async () => (await rate.inputValue()) === '0.003', 'the rate is that of the model');
  await page.getByRole('button', { name: 'Start training' }).click();
  await page.waitForURL(/\/training\/train_\d+$/);
  const shift = await layoutShiftOf(page);
  await page.locator('.page-head .badge[data-state="completed"]').waitFor({ timeout: patienceMs });
  await page.locator('.verdict-card').waitFor();
  const shifted = await shift();
  assert.ok(shifted <= 0.1, `the page shifted by ${shifted} from the start of the run to its verdict`);
  await page.evaluate(() => scrollTo(0, 0));
  return { page, context, faults };
}

/** Saves the report of the run that is shown. */
async function saveReport(page: Page, withRows: boolean) {
  await page.getByRole('button', { name: 'Report…' }).click();
  if (withRows) await page.getByLabel('Include prompts and answers').check();
  assert.equal(await axeViolations(page), []);
  const saved = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Save', exact: true }).click();
  const path = join(mkdtempSync(join(tmpdir(), 'hone-report-')), (await saved).suggestedFilename());
  await (await saved).saveAs(path);
  return { path, text: readFileSync(path, 'utf8') };
}

/** Opens a saved report as its reader does, without the service, and ends with it deleted. */
async function looksLikeReport(path: string): Promise<void> {
  const { page, context, faults } = await openPage('', pathToFileURL(path).href);
  assert.ok((await page.locator('svg').count()) >= 2);
  assert.equal(await axeViolations(page), []);
  await keepPictures(page, 'report');
  assert.equal(faults, []);
  await context.close();
  rmSync(dirname(path), { recursive: true });
}

test('sixty rows and every default end in a better model, whose figures are told in a sentence', async () => {
  const { page, context, faults } = await train('sixty.jsonl', 60);
  const { verdict, settings, metrics, last_metric } = (await service.call('GET', '/api/jobs/train_1')).body;
  assert.equal([settings.num_train_epochs, settings.learning_rate, settings.eval_split], [9, 0.003, 0.1]);
  const { loss, judgement } = verdict;
  // Random weights know nothing of the rows. How much better these few steps make them is chance, and so is what they are
  // judged to be.
  assert.ok(loss.tuned < loss.base, JSON.stringify(loss));
  const told = (await page.locator('.judgement').textContent())?.trim() ?? '';
  assert.is(told, judgement.sentence);
  const { eval: evaluations } = (await service.call('GET', '/api/jobs/train_1/metrics')).body;
  const own = evaluations.findLast(({ step }: Json) => step === (metrics.best_step ?? last_metric.step));
  const right = `${Math.round(100 * own.metrics.mean_token_accuracy)}% of the tokens are right`;
  const fell = `fell from ${lossText(loss.base)} to ${lossText(loss.tuned)} on 6 held-out rows.`;
  for (const part of [right, fell]) assert.ok(told.includes(part), `${told} has no "${part}"`);
  for (const note of judgement.notes) await sees(page, note);
  await sees(page, 'Only 6 rows were held out, so these figures are rough.');
  await sees(page, 'File verified');
  assert.is(await page.getByText('trained on', { exact: true }).count(), 0);
  assert.equal(await axeViolations(page), []);
  await keepPictures(page, 'own-rows');
  const [prompt] = verdict.prompts;
  assert.ok(!(await saveReport(page, false)).text.includes(prompt.prompt), 'rows that were not asked for');
  const report = await saveReport(page, true);
  for (const part of [judgement.sentence, prompt.prompt, prompt.reference])
    assert.ok(report.text.includes(markup`${part}`.text), `the report has no "${part}"`);
  await looksLikeReport(report.path);
  await page.getByRole('link', { name: 'View model' }).click();
  await page.locator('.judgement', { hasText: judgement.sentence }).waitFor();
  assert.equal(faults, []);
  await context.close();
});

test('of a few rows none is held out: three are answered and marked, and "Measure now" tells that they are known', async () => {
  const { page, context, faults } = await train('twelve.jsonl', 12);
  await page.locator('.judgement', { hasText: 'What it learned is not known' }).waitFor();
  assert.is(await page.locator('.verdict-prompt .tag', { hasText: 'trained on' }).count(), 3);
  const { prompts } = (await service.call('GET', '/api/jobs/train_2')).body.verdict;
  for (const { base, tuned, reference, trained } of prompts)
    assert.ok(
      typeof base === 'string' && typeof tuned === 'string' && typeof reference === 'string' && trained,
    );
  assert.equal(await axeViolations(page), []);
  await keepPictures(page, 'own-rows-unmeasured');
  await page.getByRole('button', { name: 'Measure now' }).click();
  await page.waitForURL(/\/evaluations\/results\?eval=eval_2&eval=eval_1$/);
  await page
    .getByText('All 12 rows are in the dataset that the model was trained on')
    .waitFor({ timeout: patienceMs });
  const of = async (id: string) => (await service.call('GET', `/api/evaluations/${id}`)).body;
  const [tuned, base] = [await of('eval_1'), await of('eval_2')];
  assert.equal(base.warnings, [], 'the base was not trained on them');
  assert.is(tuned.rows, 12);
  assert.equal(faults, []);
  await context.close();
});

test.run();
