import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { markup } from '../../src/api/hone/reports/markup.ts';
import { lossText } from '../../src/contract/training/loss-text.ts';
import { type Json, supportRows, type TestService, tinyModel, until } from '../service.ts';
import { appearanceFaults } from './appearance.ts';
import { axeViolations, hasDataset, keepPictures, layoutShiftOf, openPage, sees } from './browser.ts';
import { Keyboard } from './keyboard.ts';

const rows = supportRows().trimEnd().split('\n');
const patienceMs = 300_000;

/** Saves the report of the run that is shown. */
async function saveReport(keys: Keyboard, page: Page, withRows: boolean) {
  await keys.reach(/^button Report…/);
  await keys.press('Enter');
  if (withRows) {
    await keys.reach(/^input Include prompts and answers/);
    await keys.press('Space');
  }
  assert.equal(await axeViolations(page), []);
  const saved = page.waitForEvent('download');
  await keys.reach(/^a Save$/);
  await keys.press('Enter');
  const path = join(mkdtempSync(join(tmpdir(), 'hone-report-')), (await saved).suggestedFilename());
  await (await saved).saveAs(path);
  await keys.press('Escape');
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

/** Sixty rows as people have them: more columns than are needed, with names of their own. */
function ownTable(): string {
  const cell = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const lines = rows.slice(0, 60).map((row, index) => {
    const { input, output } = JSON.parse(row) as { input: string; output: string };
    return [`T-${index + 100}`, cell(input), cell(output), '2026-11-02'].join(',');
  });
  return ['Ticket no.,What did the customer ask?,Reply (final),Closed at', ...lines].join('\n');
}

/**
 * From sixty own rows to a better model, a chat, a correction and a report, by the keyboard and with defaults alone.
 * @param service one without runs and datasets.
 */
export async function walkOwnRows(
  service: TestService,
  look: { readonly width: number; readonly theme: 'light' | 'dark' },
): Promise<void> {
  const { page, context, faults } = await openPage(service.url, '/training', look);
  const keys = new Keyboard(page);
  const enter = async (wanted: RegExp, key?: 'Tab' | 'Shift+Tab') => {
    await keys.reach(wanted, key);
    await keys.press('Enter');
  };
  const found: string[] = [];
  page.once('filechooser', (chooser) =>
    chooser.setFiles({ name: 'tickets.csv', mimeType: 'text/csv', buffer: Buffer.from(ownTable()) }),
  );
  await enter(/^input Choose a file/);
  await sees(page, '60 rows, all fit.');
  await keys.reach(/System prompt/);
  await keys.write('You answer for the shop.');
  found.push(...(await appearanceFaults(page, 'walk-import')));
  await enter(/^button Start import/);
  await hasDataset(page, 'tickets.jsonl');
  await keys.reach(/^select Model/);
  await keys.choose('Path');
  await keys.reach(/Hub ID or folder|owner\/name/);
  await keys.write(tinyModel('llama', 'chatml'));
  await sees(page, 'Model found');
  const rate = page.getByLabel('Learning rate', { exact: true });
  await until(async () => (await rate.inputValue()) === '0.003', 'the rate is that of the model');
  await enter(/^button Start training/);
  await page.waitForURL(/\/training\/train_1$/);
  const shift = await layoutShiftOf(page);
  await page.locator('.page-head .badge[data-state="completed"]').waitFor({ timeout: patienceMs });
  await page.locator('.verdict-card').waitFor();
  const shifted = await shift();
  assert.ok(shifted.shift <= 0.1, `the page shifted by ${shifted.shift}: ${shifted.moved}`);

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
  found.push(...(await appearanceFaults(page, 'walk-verdict')));
  await keepPictures(page, 'own-rows');

  assert.is(await page.locator('a.primary', { hasText: 'Try' }).count(), 1, 'one button stands out');
  await enter(/^a Try (it|the model)/);
  await page.waitForURL(/\/playground\//);
  const system = page.getByLabel('System prompt', { exact: true });
  await until(
    async () => (await system.inputValue()) === 'You answer for the shop.',
    'it is the prompt of the rows',
  );
  await keys.reach(/^input Max new tokens/);
  await keys.write('8');
  await keys.reach(/^textarea Prompt/);
  await keys.write('Where is my parcel?');
  await keys.press('Enter');
  await page.getByRole('button', { name: 'Regenerate' }).waitFor();
  await enter(/^button Bad/, 'Shift+Tab');
  await keys.reach(/^textarea Corrected answer/);
  await keys.write('It comes tomorrow.');
  await enter(/^button Save/);
  found.push(...(await appearanceFaults(page, 'walk-chat')));
  await enter(/^button Add to dataset/);
  await enter(/^button Add$/);
  await sees(page, 'Added to answers.jsonl');
  const { body: added } = await service.call('GET', '/api/datasets/answers.jsonl');
  assert.match(JSON.stringify(added.rows), 'It comes tomorrow.');

  await keys.press('Escape', 'g', 'r');
  await page.waitForURL(/\/training\/runs$/);
  await enter(/^a tickets/);
  await page.waitForURL(/\/training\/train_1$/);
  const [prompt] = verdict.prompts;
  assert.ok(
    !(await saveReport(keys, page, false)).text.includes(prompt.prompt),
    'rows that were not asked for',
  );
  const report = await saveReport(keys, page, true);
  for (const part of [judgement.sentence, prompt.prompt, prompt.reference])
    assert.ok(report.text.includes(markup`${part}`.text), `the report has no "${part}"`);
  await looksLikeReport(report.path);
  await enter(/^a View model/);
  await page.locator('.judgement', { hasText: judgement.sentence }).waitFor();
  assert.equal([...keys.unseen], [], 'every stop showed that it had the focus');
  assert.equal(found, []);
  assert.equal(faults, []);
  await context.close();
}
