/** A training with graders from the page: the form takes prompts, graders are added to it, and the run shows the scores. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService, type TestService, tinyModel, untilEnded } from '../service.ts';
import { closeBrowser, keepPictures, openGroup, openPage, sees, typeModel } from './browser.ts';

let service: TestService;

test.before(async () => {
  service = await startService({ warm: true });
  const rows = Array.from({ length: 16 }, (_, at) => ({
    prompt: `What is ${at} and ${at}?`,
    answer: `${2 * at}`,
  }));
  await service.upload('prompts.jsonl', rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  for (const [name, max] of [
    ['brief', 12],
    ['not too long', 20],
  ])
    await service.call('POST', '/api/graders', { type: 'hone_length', name, max });
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

test('prompts are trained with graders', async () => {
  const { page, context, faults } = await openPage(service.url, '/training');
  await page.getByLabel('Dataset', { exact: true }).selectOption('prompts.jsonl');
  await typeModel(page, tinyModel('llama'));
  const graders = page.getByLabel('Graders', { exact: true });
  await graders.waitFor();
  await page.getByRole('button', { name: 'Add brief' }).click();
  assert.is(await graders.inputValue(), 'brief');
  await graders.fill('brief × 2\n{"type": "string_check", "name": "digits"');
  await sees(page, /is no JSON/);
  await graders.fill('brief × 2');
  await page.getByRole('button', { name: 'Add not too long' }).click();
  assert.is(await graders.inputValue(), 'brief × 2\nnot too long');
  await openGroup(page, 'Basics');
  await page.getByLabel('Max steps').fill('3');
  await keepPictures(page, 'grpo-form');
  const [started] = await Promise.all([
    page.waitForResponse((answer) => answer.url().endsWith('start_training')),
    page.getByRole('button', { name: /Start training|Add to the queue/ }).click(),
  ]);
  const { strategy, graders: sent } = started.request().postDataJSON();
  assert.equal([strategy, sent], ['grpo', [{ name: 'brief', weight: 2 }, 'not too long']]);
  assert.is((await untilEnded(service)).status, 'completed');
  await sees(page, 'Score of brief');
  await keepPictures(page, 'grpo-run');
  assert.equal(faults, []);
  await context.close();
});

test.run();
