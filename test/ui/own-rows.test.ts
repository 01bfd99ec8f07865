/** A person with own rows who takes every default: from the file to a judgement, and to figures where none were measured. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService, supportRows, type TestService, tinyModel, until } from '../service.ts';
import {
  axeViolations,
  closeBrowser,
  keepPictures,
  layoutShiftOf,
  openPage,
  sees,
  typeModel,
} from './browser.ts';
import { walkOwnRows } from './own-rows-walk.ts';

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
  assert.ok(shifted.shift <= 0.1, `the page shifted by ${shifted.shift}: ${shifted.moved}`);
  await page.evaluate(() => scrollTo(0, 0));
  return { page, context, faults };
}

test('sixty own rows lead to a better model, a chat, a correction and a report, by keyboard and defaults alone', () =>
  walkOwnRows(service, { width: 1280, theme: 'light' }));

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
